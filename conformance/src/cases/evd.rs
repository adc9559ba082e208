//! Event dispatchers.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::case::cases;
use crate::{
    Background, LIMIT, Node, drain, expect_connection, expect_connection_of, expect_connections,
    expect_dto, expect_event, expect_no_event, expect_request, open, refused, requester, rounds,
    until,
};
use dat_core::{
    AsyncErrorKind, Close, CompletionFlags, Connect, ConnectionEventKind, DtoStatus, EvdFlags,
    EvdOptions, Event, EventDispatcher, PspMaker, ReturnType, Subtype, Timeout, Waited,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

cases! {
    "dat_evd_create(3DAT)":
        what_can_not_be_made_is_refused_and_takes_no_room,
        completions_within_the_length_are_never_lost,
        an_overflow_of_completions_is_reported_once_until_it_is_drained,
        an_overflow_by_requests_is_reported_once_until_it_is_drained,
        connection_events_are_kept_beyond_the_length_and_the_overflow_reported;
    "dat_evd_free(3DAT)":
        it_is_freed_once_and_not_used_again;
    "dat_evd_post_se(3DAT)":
        software_events_come_in_order_until_the_queue_is_full,
        software_events_need_their_flag;
    "dat_evd_dequeue(3DAT)":
        an_empty_queue_gives_nothing_and_leaves_the_storage_alone,
        each_event_is_delivered_once_however_many_threads_dequeue;
    "dat_evd_wait(3DAT)":
        a_wait_of_no_time_polls,
        a_time_out_passes_and_tells_how_many_there_are,
        thresholds_that_can_never_be_met_are_refused,
        a_waiter_is_woken_at_its_threshold_not_before,
        the_threshold_counts_events_of_all_streams,
        there_is_one_waiter_and_it_owns_the_dispatcher,
        after_a_time_out_the_dispatcher_is_free_again,
        waits_and_dequeues_in_turn_take_each_completion_in_order,
        no_wake_up_is_lost_to_a_waiter,
        unsignalled_completions_wake_nobody_and_signalled_ones_do,
        an_error_notifies_also_when_the_post_is_unsignalled;
    "dat_evd_set_unwaitable(3DAT), dat_evd_clear_unwaitable(3DAT)":
        an_unwaitable_dispatcher_is_not_waited_on_and_otherwise_as_before,
        it_returns_also_when_the_dispatcher_is_waitable_again_before_it_looks;
    "dat_evd_resize(3DAT)":
        a_resize_keeps_what_is_queued,
        a_resize_keeps_completions_too;
    "dat_ep_disconnect(3DAT)":
        completions_come_before_the_disconnect_on_one_dispatcher;
    "reading: the descriptor of an event dispatcher":
        an_armed_descriptor_shows_the_next_event,
        an_armed_descriptor_shows_completions_and_connection_events,
        a_freed_dispatcher_shows_at_its_armed_descriptor,
        a_waited_dispatcher_can_not_be_armed,
        no_wake_up_is_lost_to_a_producer_of_software_events,
        no_wake_up_is_lost_to_a_producer_of_completions;
    "dat_evd_query(3DAT)":
        the_query_tells_how_it_was_made;
    "dat_evd_set_unwaitable(3DAT)":
        a_blocked_waiter_returns_when_the_dispatcher_becomes_unwaitable;
}

const NONE: CompletionFlags = CompletionFlags::empty();

fn software(qlen: u32) -> EventDispatcher {
    open("").evd_create(&EvdOptions::new(qlen, EvdFlags::SOFTWARE)).expect("a dispatcher")
}

/// Starts a thread that waits on the dispatcher; returns when it does.
#[track_caller]
fn waiter(evd: &EventDispatcher, threshold: u32) -> Background<dat_core::Result<(Waited, Event)>> {
    let thread = {
        let evd = evd.clone();
        Background::run(move || {
            let mut event = Event::default();
            evd.wait(LIMIT.into(), threshold, &mut event).map(|waited| (waited, event))
        })
    };
    until("the thread waits", || {
        // The queue is below the threshold, so the call fails only if a thread owns the dispatcher.
        evd.wait(Timeout::ZERO, evd.query().expect("live").qlen, &mut Event::default()).is_err()
    });
    thread
}

fn what_can_not_be_made_is_refused_and_takes_no_room() {
    let node = Node::with("max_evd_qlen=256");
    let make = |qlen, flags| node.ia.evd_create(&EvdOptions::new(qlen, flags));
    let parameter = ReturnType::InvalidParameter;
    for qlen in [0, 257] {
        refused(make(qlen, EvdFlags::DTO), parameter, Subtype::InvalidArg2);
    }
    for flags in [EvdFlags::empty(), EvdFlags::from_bits_retain(0x2)] {
        refused(make(1, flags), parameter, Subtype::InvalidArg4);
    }
    let cno = open("").cno_create(None).expect("made");
    let foreign = EvdOptions::new(1, EvdFlags::DTO).with_cno(&cno);
    refused(node.ia.evd_create(&foreign), ReturnType::InvalidHandle, Subtype::InvalidHandleCno);
    let cno = node.ia.cno_create(None).expect("made");
    cno.free().expect("unused");
    let freed = EvdOptions::new(1, EvdFlags::DTO).with_cno(&cno);
    refused(node.ia.evd_create(&freed), ReturnType::InvalidHandle, Subtype::InvalidHandleCno);
    make(256, EvdFlags::all()).expect("the limit itself").free().expect("unused");
    node.finish();
    // One dispatcher belongs to the adapter.
    let ia = open("max_evds=2");
    let options = EvdOptions::new(1, EvdFlags::SOFTWARE);
    let only = ia.evd_create(&options).expect("within the limit");
    let full = (ReturnType::InsufficientResources, Subtype::ResourceTevd);
    refused(ia.evd_create(&options), full.0, full.1);
    only.free().expect("unused");
    ia.evd_create(&options).expect("within the limit again");
}

fn the_query_tells_how_it_was_made() {
    let node = Node::new();
    let cno = node.ia.cno_create(None).expect("made");
    let flags = EvdFlags::SOFTWARE | EvdFlags::CONNECTION;
    let evd = node.ia.evd_create(&EvdOptions::new(7, flags).with_cno(&cno)).expect("made");
    let param = evd.query().expect("live");
    assert!(param.qlen >= 7);
    assert_eq!((param.flags, param.cno.as_ref()), (flags, Some(&cno)));
    assert!(param.enabled && param.waitable);
    evd.disable().expect("live");
    evd.set_unwaitable().expect("live");
    evd.modify_cno(None).expect("live");
    let param = evd.query().expect("live");
    assert!(!param.enabled && !param.waitable && param.cno.is_none());
}

fn it_is_freed_once_and_not_used_again() {
    let evd = software(4);
    let clone = evd.clone();
    evd.post_se(1).expect("within the limit");
    clone.free().expect("queued events are lost");
    let handle = ReturnType::InvalidHandle;
    let mut event = Event::default();
    for error in [
        evd.free().expect_err("freed"),
        evd.query().expect_err("freed"),
        evd.post_se(2).expect_err("freed"),
        evd.dequeue(&mut event).expect_err("freed"),
        evd.wait(Timeout::ZERO, 1, &mut event).expect_err("freed"),
        evd.resize(9).expect_err("freed"),
        evd.enable().expect_err("freed"),
        evd.disable().expect_err("freed"),
        evd.set_unwaitable().expect_err("freed"),
        evd.clear_unwaitable().expect_err("freed"),
        evd.modify_cno(None).expect_err("freed"),
        evd.arm().expect_err("freed"),
    ] {
        assert_eq!(error.return_type(), handle, "{error}");
    }
    assert_eq!(event, Event::None, "nothing was delivered");
}

fn software_events_come_in_order_until_the_queue_is_full() {
    let evd = software(4);
    let qlen = u64::from(evd.query().expect("live").qlen);
    for value in 0..qlen {
        evd.post_se(value).expect("at least as many as asked for");
    }
    for _ in 0..2 {
        refused(evd.post_se(99), ReturnType::QueueFull, Subtype::NoSubtype);
    }
    let asynchronous = evd.adapter().async_evd().expect("made by the open");
    expect_no_event(&asynchronous);
    assert_eq!(expect_event(&evd, &[]), Event::Software(0));
    evd.post_se(qlen).expect("within the limit again");
    let values: Vec<Event> = (1..=qlen).map(Event::Software).collect();
    assert_eq!(drain(&evd), values);
}

fn software_events_need_their_flag() {
    let node = Node::new();
    assert!(node.recv.post_se(1).is_err());
    expect_no_event(&node.recv);
}

fn an_empty_queue_gives_nothing_and_leaves_the_storage_alone() {
    let evd = software(4);
    let mut event = Event::Software(5);
    assert_eq!(evd.dequeue(&mut event), Ok(false));
    assert_eq!(event, Event::Software(5));
}

fn a_wait_of_no_time_polls() {
    let evd = software(4);
    let mut event = Event::default();
    let wait = |event: &mut Event, threshold| evd.wait(Timeout::ZERO, threshold, event);
    assert_eq!(wait(&mut event, 1), Ok(Waited::TimedOut { queued: 0 }));
    for value in 0..3 {
        evd.post_se(value).expect("within the limit");
    }
    assert_eq!(wait(&mut event, 4), Ok(Waited::TimedOut { queued: 3 }));
    assert_eq!(event, Event::None, "nothing is dequeued then");
    assert_eq!(wait(&mut event, 3), Ok(Waited::Event { more: 2 }));
    assert_eq!(event, Event::Software(0));
    assert_eq!(wait(&mut event, 1), Ok(Waited::Event { more: 1 }));
    assert_eq!(wait(&mut event, 1), Ok(Waited::Event { more: 0 }));
    assert_eq!(event, Event::Software(2));
}

fn waits_and_dequeues_in_turn_take_each_completion_in_order() {
    const COUNT: u32 = 20;
    let node = Node::new();
    let (client, server) = node.pair();
    for cookie in 0..COUNT.into() {
        server.post_recv(&[], cookie, NONE).expect("connected");
        client.post_send(&[], cookie, NONE).expect("connected");
    }
    // Outstanding until the disconnect flushes it.
    server.post_recv(&[], COUNT.into(), NONE).expect("connected");
    let mut event = Event::default();
    // Once all have arrived, the numbers of remaining events are known.
    let mut waited = node.recv.wait(LIMIT.into(), COUNT, &mut event);
    for cookie in 0..COUNT {
        assert_eq!(waited, Ok(Waited::Event { more: COUNT - 1 - cookie }));
        let Event::Dto(completion) = event else { panic!("a completion expected: {event:?}") };
        assert_eq!((completion.cookie, completion.status), (cookie.into(), DtoStatus::Success));
        event = Event::default();
        waited = match cookie % 3 {
            0 => node.recv.wait(LIMIT.into(), 1, &mut event),
            1 => node.recv.wait(Timeout::ZERO, 1, &mut event),
            _ => {
                let taken = node.recv.dequeue(&mut event);
                taken.map(|_| Waited::Event { more: COUNT - 2 - cookie })
            }
        };
    }
    assert_eq!((waited, event), (Ok(Waited::TimedOut { queued: 0 }), Event::None));
    client.disconnect(Close::Abrupt).expect("connected");
    let flushed = expect_dto(&node.recv, &[&server]);
    assert_eq!((flushed.cookie, flushed.status), (COUNT.into(), DtoStatus::Flushed));
}

fn a_time_out_passes_and_tells_how_many_there_are() {
    let evd = software(4);
    evd.post_se(1).expect("within the limit");
    let began = Instant::now();
    let time = Duration::from_millis(20);
    let waited = evd.wait(time.into(), 2, &mut Event::default());
    assert_eq!(waited, Ok(Waited::TimedOut { queued: 1 }));
    assert!(began.elapsed() >= time);
    assert_eq!(drain(&evd), [Event::Software(1)]);
}

fn thresholds_that_can_never_be_met_are_refused() {
    let evd = software(4);
    let qlen = evd.query().expect("live").qlen;
    let mut event = Event::default();
    for threshold in [0, qlen + 1, u32::MAX] {
        let waited = evd.wait(Timeout::Infinite, threshold, &mut event);
        refused(waited, ReturnType::InvalidParameter, Subtype::InvalidArg3);
    }
    evd.resize(qlen + 1).expect("the adapter has more");
    let waited = evd.wait(Timeout::ZERO, qlen + 1, &mut event);
    assert_eq!(waited, Ok(Waited::TimedOut { queued: 0 }));
}

fn a_waiter_is_woken_at_its_threshold_not_before() {
    let evd = software(8);
    let thread = waiter(&evd, 3);
    evd.post_se(1).expect("within the limit");
    evd.post_se(2).expect("within the limit");
    // The waiter still owns the dispatcher.
    let taken = evd.dequeue(&mut Event::default());
    refused(taken, ReturnType::InvalidState, Subtype::InvalidStateEvdWaiter);
    evd.post_se(3).expect("within the limit");
    let (waited, event) = thread.join().expect("woken");
    assert_eq!((waited, event), (Waited::Event { more: 2 }, Event::Software(1)));
    assert_eq!(drain(&evd), [Event::Software(2), Event::Software(3)]);
}

fn the_threshold_counts_events_of_all_streams() {
    let node = Node::new();
    let evd = node.evd(EvdFlags::all());
    let spec = dat_core::EpSpec::new(&node.pz).recv_evd(&evd).request_evd(&evd);
    let client = node.ia.ep_create(&spec).expect("an endpoint");
    let server = node.ep();
    crate::link(&node, &client, &node, &server);
    let thread = waiter(&evd, 3);
    server.post_recv(&[], 1, NONE).expect("connected");
    client.post_send(&[], 2, NONE).expect("connected");
    evd.post_se(3).expect("within the limit");
    client.post_recv(&[], 4, NONE).expect("connected");
    server.post_send(&[], 5, NONE).expect("connected");
    let (waited, event) = thread.join().expect("woken");
    assert!(matches!(waited, Waited::Event { more } if more >= 2), "{waited:?}");
    // A transport may complete the send later than the call that posts it.
    let mut found = vec![event];
    found.extend(drain(&evd));
    let mut cookies: Vec<u64> = found
        .iter()
        .map(|event| match event {
            Event::Dto(completion) => completion.cookie,
            Event::Software(number) => *number,
            other => panic!("an event of neither stream: {other:?}"),
        })
        .collect();
    cookies.sort_unstable();
    assert_eq!(cookies, [2, 3, 4], "{found:?}");
}

fn there_is_one_waiter_and_it_owns_the_dispatcher() {
    let evd = software(8);
    let thread = waiter(&evd, 1);
    let mut event = Event::default();
    let (state, owned) = (ReturnType::InvalidState, Subtype::InvalidStateEvdWaiter);
    for timeout in [Timeout::ZERO, Timeout::Infinite] {
        refused(evd.wait(timeout, 1, &mut event), state, owned);
    }
    refused(evd.dequeue(&mut event), state, owned);
    refused(evd.free(), state, owned);
    evd.post_se(1).expect("others may post");
    assert_eq!(thread.join().expect("woken").1, Event::Software(1));
    evd.post_se(2).expect("within the limit");
    assert_eq!(evd.dequeue(&mut event), Ok(true), "it is free again");
    evd.free().expect("no thread waits");
}

fn after_a_time_out_the_dispatcher_is_free_again() {
    let evd = software(8);
    let waited = evd.wait(Duration::from_millis(1).into(), 1, &mut Event::default());
    assert_eq!(waited, Ok(Waited::TimedOut { queued: 0 }));
    expect_no_event(&evd);
    evd.free().expect("no thread waits");
}

fn an_unwaitable_dispatcher_is_not_waited_on_and_otherwise_as_before() {
    let evd = software(8);
    evd.set_unwaitable().expect("live");
    evd.set_unwaitable().expect("twice is once");
    let mut event = Event::default();
    let (state, unwaitable) = (ReturnType::InvalidState, Subtype::InvalidStateEvdUnwaitable);
    for timeout in [Timeout::ZERO, Timeout::Infinite] {
        refused(evd.wait(timeout, 1, &mut event), state, unwaitable);
    }
    evd.post_se(1).expect("events arrive");
    assert_eq!(evd.dequeue(&mut event), Ok(true), "and are dequeued");
    evd.clear_unwaitable().expect("live");
    assert!(evd.query().expect("live").waitable);
    evd.post_se(2).expect("within the limit");
    assert_eq!(expect_event(&evd, &[]), Event::Software(2));
}

fn a_blocked_waiter_returns_when_the_dispatcher_becomes_unwaitable() {
    let evd = software(8);
    let thread = waiter(&evd, 2);
    evd.post_se(1).expect("within the limit");
    evd.set_unwaitable().expect("live");
    let waited = thread.join();
    refused(waited, ReturnType::InvalidState, Subtype::InvalidStateEvdUnwaitable);
    assert_eq!(drain(&evd), [Event::Software(1)], "nothing is lost");
}

fn it_returns_also_when_the_dispatcher_is_waitable_again_before_it_looks() {
    // The page: blocked threads are awakened and return without any further action.
    for _ in 0..rounds(200) {
        let evd = software(8);
        let thread = waiter(&evd, 1);
        evd.set_unwaitable().expect("live");
        evd.clear_unwaitable().expect("live");
        let waited = thread.join();
        refused(waited, ReturnType::InvalidState, Subtype::InvalidStateEvdUnwaitable);
    }
}

fn a_resize_keeps_what_is_queued() {
    let evd = software(4);
    for value in 0..4 {
        evd.post_se(value).expect("within the limit");
    }
    refused(evd.resize(3), ReturnType::InvalidState, Subtype::InvalidStateEvdInUse);
    assert_eq!(evd.query().expect("live").qlen, 4, "nothing has changed");
    for wrong in [0, u32::MAX] {
        refused(evd.resize(wrong), ReturnType::InvalidParameter, Subtype::InvalidArg2);
    }
    evd.resize(6).expect("the adapter has more");
    for value in 4..6 {
        evd.post_se(value).expect("within the limit");
    }
    assert!(evd.post_se(6).is_err());
    evd.resize(6).expect("exactly what is queued");
    assert_eq!(drain(&evd), (0..6).map(Event::Software).collect::<Vec<_>>());
    evd.resize(1).expect("empty");
    evd.post_se(7).expect("within the limit");
    assert!(evd.post_se(8).is_err());
}

fn a_resize_keeps_completions_too() {
    let node = Node::new();
    let (client, server) = node.pair();
    for cookie in 0..20 {
        server.post_recv(&[], cookie, NONE).expect("connected");
        client.post_send(&[], cookie, NONE).expect("connected");
    }
    let mut first = Event::default();
    let waited = node.recv.wait(LIMIT.into(), 20, &mut first).expect("20 messages were sent");
    assert_eq!(waited, Waited::Event { more: 19 });
    assert!(matches!(first, Event::Dto(completion) if completion.cookie == 0), "{first:?}");
    assert_eq!(
        node.recv.resize(18).expect_err("19 are queued").return_type(),
        ReturnType::InvalidState
    );
    node.recv.resize(19).expect("exactly what is queued");
    node.recv.resize(40).expect("longer");
    for cookie in 20..40 {
        server.post_recv(&[], cookie, NONE).expect("connected");
        client.post_send(&[], cookie, NONE).expect("connected");
    }
    for cookie in 1..40 {
        assert_eq!(expect_dto(&node.recv, &[&client, &server]).cookie, cookie);
    }
}

/// Posts receives that are flushed at once: the fastest way to get many completions.
fn flood(node: &Node, evd: &EventDispatcher, count: u64) -> dat_core::Endpoint {
    let spec = node.spec().recv_evd(evd);
    let ep = node.ia.ep_create(&spec).expect("an endpoint");
    for cookie in 0..count {
        ep.post_recv(&[], cookie, NONE).expect("unconnected");
    }
    ep.connect(&Connect::to(node.address(), 1)).expect("no service point listens there");
    expect_connection(&node.connect, &ep, ConnectionEventKind::NonPeerRejected);
    ep
}

fn completions_within_the_length_are_never_lost() {
    let node = Node::new();
    let evd = node.ia.evd_create(&EvdOptions::new(16, EvdFlags::DTO)).expect("made");
    let ep = flood(&node, &evd, 16);
    for cookie in 0..16 {
        let completion = expect_dto(&evd, &[&ep]);
        assert_eq!((completion.cookie, completion.status), (cookie, DtoStatus::Flushed));
    }
    expect_no_event(&node.ia.async_evd().expect("made by the open"));
}

fn an_overflow_of_completions_is_reported_once_until_it_is_drained() {
    let node = Node::new();
    let asynchronous = node.ia.async_evd().expect("made by the open");
    let evd = node.ia.evd_create(&EvdOptions::new(4, EvdFlags::DTO)).expect("made");
    for dequeue in [true, false, true] {
        let _ep = flood(&node, &evd, 8);
        let event = expect_event(&asynchronous, &[]);
        let Event::Async(error) = event else { panic!("not asynchronous: {event:?}") };
        assert_eq!((error.kind, error.object), (AsyncErrorKind::EvdOverflow, evd.id()));
        expect_no_event(&asynchronous);
        if dequeue {
            assert!(drain(&evd).len() >= 4);
        } else {
            // A consumer that only waits detects an empty queue by the count.
            let mut event = Event::default();
            while let Waited::Event { more } =
                evd.wait(LIMIT.into(), 1, &mut event).expect("waitable")
            {
                if more == 0 {
                    break;
                }
            }
        }
    }
}

fn an_overflow_by_requests_is_reported_once_until_it_is_drained() {
    let node = Node::new();
    let asynchronous = node.ia.async_evd().expect("made by the open");
    let evd = node.ia.evd_create(&EvdOptions::new(1, EvdFlags::CONNECTION_REQUEST)).expect("made");
    let psp = node.ia.psp_create_any(&evd, PspMaker::Consumer).expect("a service point");
    for _ in 0..3 {
        let eps = [0, 1, 2].map(|_| {
            let ep = node.ep();
            ep.connect(&Connect::to(node.address(), psp.qualifier())).expect("unconnected");
            ep
        });
        let event = expect_event(&asynchronous, &[]);
        assert!(matches!(event, Event::Async(error) if error.object == evd.id()), "{event:?}");
        expect_no_event(&asynchronous);
        for _ in 1..eps.len() {
            expect_connection_of(&node.connect, &eps, ConnectionEventKind::NonPeerRejected);
        }
        let request = expect_request(&evd).request;
        let first = requester(&eps, &request);
        request.reject(b"").expect("it waits for an answer");
        expect_no_event(&evd);
        expect_connection(&node.connect, first, ConnectionEventKind::PeerRejected);
    }
}

fn connection_events_are_kept_beyond_the_length_and_the_overflow_reported() {
    let node = Node::new();
    let asynchronous = node.ia.async_evd().expect("made by the open");
    let evd = node.ia.evd_create(&EvdOptions::new(1, EvdFlags::CONNECTION)).expect("made");
    let spec = node.spec().connect_evd(&evd);
    let eps = [0, 1, 2].map(|_| {
        let ep = node.ia.ep_create(&spec).expect("an endpoint");
        ep.connect(&Connect::to(node.address(), 1)).expect("no service point listens there");
        ep
    });
    let event = expect_event(&asynchronous, &[]);
    assert!(matches!(event, Event::Async(error) if error.object == evd.id()), "{event:?}");
    expect_no_event(&asynchronous);
    expect_connections(&evd, &[&eps[0], &eps[1], &eps[2]], ConnectionEventKind::NonPeerRejected);
}

fn completions_come_before_the_disconnect_on_one_dispatcher() {
    let node = Node::new();
    let evd = node.evd(EvdFlags::all());
    let spec = dat_core::EpSpec::new(&node.pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd);
    for how in [Close::Abrupt, Close::Graceful] {
        let client = node.ia.ep_create(&spec).expect("an endpoint");
        let server = node.ep();
        crate::link(&node, &client, &node, &server);
        drain(&evd);
        for cookie in 0..10 {
            server.post_recv(&[], cookie, NONE).expect("connected");
            client.post_send(&[], cookie, NONE).expect("connected");
            client.post_recv(&[], 100 + cookie, NONE).expect("connected");
        }
        let mut event = Event::default();
        evd.wait(LIMIT.into(), 10, &mut event).expect("the sends complete");
        evd.post_se(1).expect("within the limit");
        client.disconnect(how).expect("connected");
        let mut events = vec![event];
        loop {
            match expect_event(&evd, &[&client, &server]) {
                Event::Connection(event) => {
                    assert_eq!(event.kind, ConnectionEventKind::Disconnected);
                    break;
                }
                event => events.push(event),
            }
        }
        let mut sent = 0;
        for event in &events {
            if let Event::Dto(completion) = event {
                sent += u64::from(completion.status == DtoStatus::Success);
            }
        }
        assert_eq!(sent, 10, "every success precedes the end: {events:?}");
        let flushed: Vec<u64> = events
            .iter()
            .chain(&drain(&evd))
            .filter_map(|event| match event {
                Event::Dto(completion) if completion.status == DtoStatus::Flushed => {
                    Some(completion.cookie)
                }
                _ => None,
            })
            .collect();
        assert_eq!(flushed, (100..110).collect::<Vec<_>>(), "in posting order, each once");
        drain(&node.connect);
        drain(&node.recv);
    }
}

#[track_caller]
fn readable(evd: &EventDispatcher, timeout: PollTimeout) -> bool {
    let mut fds = [PollFd::new(evd.as_fd(), PollFlags::POLLIN)];
    poll(&mut fds, timeout).expect("poll") == 1
}

fn an_armed_descriptor_shows_the_next_event() {
    let evd = software(8);
    assert_eq!(evd.arm(), Ok(false), "nothing is queued: sleep");
    assert!(!readable(&evd, PollTimeout::ZERO));
    evd.post_se(1).expect("within the limit");
    assert!(readable(&evd, PollTimeout::ZERO));
    assert_eq!(evd.arm(), Ok(true), "something is queued: do not sleep");
    drain(&evd);
    assert_eq!(evd.arm(), Ok(false));
    assert!(!readable(&evd, PollTimeout::ZERO), "arming forgets what was taken");
    evd.disarm();
}

fn an_armed_descriptor_shows_completions_and_connection_events() {
    let node = Node::new();
    let (client, server) = node.pair();
    for evd in [&node.recv, &node.request, &node.connect] {
        assert_eq!(evd.arm(), Ok(false));
        assert!(!readable(evd, PollTimeout::ZERO));
    }
    server.post_recv(&[], 1, NONE).expect("connected");
    client.post_send(&[], 2, NONE).expect("connected");
    let soon = PollTimeout::try_from(LIMIT).expect("some seconds");
    assert!(readable(&node.recv, soon));
    assert!(readable(&node.request, soon));
    assert!(!readable(&node.connect, PollTimeout::ZERO));
    client.disconnect(Close::Abrupt).expect("connected");
    assert!(readable(&node.connect, soon));
}

fn a_freed_dispatcher_shows_at_its_armed_descriptor() {
    let evd = software(8);
    assert_eq!(evd.arm(), Ok(false));
    let other = evd.clone();
    let free = Background::run(move || other.free());
    let soon = PollTimeout::try_from(LIMIT).expect("some seconds");
    assert!(readable(&evd, soon), "a thread that polls it must learn of the free");
    assert_eq!(free.join(), Ok(()));
    assert_eq!(evd.arm().expect_err("freed").return_type(), ReturnType::InvalidHandle);
}

fn a_waited_dispatcher_can_not_be_armed() {
    let evd = software(8);
    let thread = waiter(&evd, 1);
    refused(evd.arm(), ReturnType::InvalidState, Subtype::InvalidStateEvdWaiter);
    evd.post_se(1).expect("within the limit");
    thread.join().expect("woken");
}

/// Counts events by the loop of the documentation of `arm`, and fails if a queued event does not
/// end a sleep.
fn count_by_poll(evd: &EventDispatcher, expected: u64) {
    let mut event = Event::default();
    let mut seen = 0;
    while seen < expected {
        while evd.dequeue(&mut event).expect("live") {
            seen += 1;
        }
        if seen < expected && !evd.arm().expect("live") {
            let limit = PollTimeout::try_from(LIMIT).expect("within range");
            assert!(readable(evd, limit), "a wake-up was lost after {seen} events");
        }
    }
    assert_eq!(seen, expected);
}

/// Starts a thread that posts software events 0, 1, 2 and so on, and retries while the queue is full.
fn produce(evd: &EventDispatcher, events: u64) -> Background<()> {
    let evd = evd.clone();
    Background::run(move || {
        for value in 0..events {
            while evd.post_se(value).is_err() {
                std::thread::yield_now();
            }
            if value % 7 == 0 {
                std::thread::yield_now();
            }
        }
    })
}

fn no_wake_up_is_lost_to_a_producer_of_software_events() {
    const EVENTS: u64 = 20_000;
    let evd = software(64);
    let producer = produce(&evd, EVENTS);
    count_by_poll(&evd, EVENTS);
    producer.join();
}

fn no_wake_up_is_lost_to_a_producer_of_completions() {
    const MESSAGES: u64 = 10_000;
    let node = Node::new();
    let (client, server) = node.pair();
    let (recv, request) = (node.recv.clone(), node.request.clone());
    for cookie in 0..32 {
        server.post_recv(&[], cookie, NONE).expect("connected");
    }
    let producer = {
        let client = client.clone();
        Background::run(move || {
            for cookie in 0..MESSAGES {
                while client.post_send(&[], cookie, NONE).is_err() {
                    drain(&request);
                }
                if cookie % 5 == 0 {
                    std::thread::yield_now();
                }
            }
        })
    };
    let mut event = Event::default();
    let mut seen = 0;
    while seen < MESSAGES {
        while recv.dequeue(&mut event).expect("live") {
            seen += 1;
            server.post_recv(&[], 0, NONE).expect("connected");
        }
        if seen < MESSAGES && !recv.arm().expect("live") {
            let limit = PollTimeout::try_from(LIMIT).expect("within range");
            assert!(readable(&recv, limit), "a wake-up was lost after {seen} messages");
        }
    }
    producer.join();
}

fn no_wake_up_is_lost_to_a_waiter() {
    const EVENTS: u64 = 20_000;
    let evd = software(64);
    let producer = produce(&evd, EVENTS);
    for value in 0..EVENTS {
        assert_eq!(expect_event(&evd, &[]), Event::Software(value));
    }
    producer.join();
}

fn each_event_is_delivered_once_however_many_threads_dequeue() {
    const EVENTS: u64 = 10_000;
    let evd = software(64);
    let done = Arc::new(AtomicBool::new(false));
    let takers = [0, 1, 2].map(|_| {
        let (evd, done) = (evd.clone(), Arc::clone(&done));
        Background::run(move || {
            let (mut values, mut event) = (Vec::new(), Event::default());
            loop {
                let last = done.load(Ordering::Acquire);
                while evd.dequeue(&mut event).expect("live") {
                    let Event::Software(value) = event else { panic!("{event:?}") };
                    values.push(value);
                }
                if last {
                    return values;
                }
                std::thread::yield_now();
            }
        })
    });
    for value in 0..EVENTS {
        until("the queue has space", || evd.post_se(value).is_ok());
    }
    done.store(true, Ordering::Release);
    let mut all = Vec::new();
    for taker in takers {
        let values = taker.join();
        assert!(values.is_sorted(), "one thread gets events in their order");
        all.extend(values);
    }
    all.sort_unstable();
    assert_eq!(all, (0..EVENTS).collect::<Vec<_>>());
}

/// An endpoint without a dispatcher for requests.
fn silent(node: &Node) -> dat_core::Endpoint {
    let spec = dat_core::EpSpec::new(&node.pz).recv_evd(&node.recv).connect_evd(&node.connect);
    node.ia.ep_create(&spec).expect("an endpoint")
}

fn unsignalled_completions_wake_nobody_and_signalled_ones_do() {
    let node = Node::new();
    let mut attributes = node.ia.default_ep_attributes().clone();
    attributes.request_completion_flags = CompletionFlags::UNSIGNALLED;
    let client = node.ia.ep_create(&node.spec().attributes(&attributes)).expect("an endpoint");
    let server = silent(&node);
    crate::link(&node, &client, &node, &server);
    for cookie in 0..3 {
        server.post_recv(&[], cookie, NONE).expect("connected");
    }
    let thread = {
        let evd = node.request.clone();
        Background::run(move || {
            let mut event = Event::default();
            evd.wait(LIMIT.into(), 1, &mut event).map(|waited| (waited, event))
        })
    };
    until("the thread waits", || {
        node.request.free().is_err_and(|error| error.subtype() == Subtype::InvalidStateEvdWaiter)
    });
    thread.until_asleep();
    client.post_send(&[], 1, CompletionFlags::UNSIGNALLED).expect("the endpoint has the flag");
    expect_dto(&node.recv, &[&client, &server]);
    let taken = node.request.dequeue(&mut Event::default());
    refused(taken, ReturnType::InvalidState, Subtype::InvalidStateEvdWaiter);
    client.post_send(&[], 2, NONE).expect("connected");
    let (waited, event) = thread.join().expect("woken");
    assert_eq!(waited, Waited::Event { more: 1 });
    assert!(matches!(event, Event::Dto(completion) if completion.cookie == 1), "the first");
    assert_eq!(expect_dto(&node.request, &[&client]).cookie, 2);
}

fn an_error_notifies_also_when_the_post_is_unsignalled() {
    let node = Node::new();
    let mut attributes = node.ia.default_ep_attributes().clone();
    attributes.request_completion_flags = CompletionFlags::UNSIGNALLED;
    let client = node.ia.ep_create(&node.spec().attributes(&attributes)).expect("an endpoint");
    let server = silent(&node);
    crate::link(&node, &client, &node, &server);
    client.post_send(&[], 1, CompletionFlags::UNSIGNALLED).expect("connected");
    let thread = {
        let evd = node.request.clone();
        Background::run(move || {
            let mut event = Event::default();
            evd.wait(LIMIT.into(), 1, &mut event).map(|_| event)
        })
    };
    until("the thread waits", || {
        node.request.free().is_err_and(|error| error.subtype() == Subtype::InvalidStateEvdWaiter)
    });
    server.disconnect(Close::Abrupt).expect("connected");
    let event = thread.join().expect("woken");
    assert!(
        matches!(event, Event::Dto(completion) if completion.status == DtoStatus::Flushed),
        "{event:?}"
    );
}
