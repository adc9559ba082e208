//! Waits: thresholds, time-outs, the waiter.

use std::time::{Duration, Instant};

use super::{owner, produce, software};
use crate::prelude::*;

pub(super) fn a_wait_with_a_timeout_of_0_polls() {
    let evd = software(4);
    let mut event = Event::default();
    let wait = |event: &mut Event, threshold| evd.wait(Timeout::ZERO, threshold, event);
    assert_eq!(wait(&mut event, 1), Ok(WaitResult::TimedOut { queued: 0 }));
    post_events(&evd, 0..3);
    assert_eq!(wait(&mut event, 4), Ok(WaitResult::TimedOut { queued: 3 }));
    assert_eq!(event, Event::None, "nothing is dequeued then");
    assert_eq!(wait(&mut event, 3), Ok(WaitResult::Event { more: 2 }));
    assert_eq!(event, Event::Software(0));
    assert_eq!(wait(&mut event, 1), Ok(WaitResult::Event { more: 1 }));
    assert_eq!(wait(&mut event, 1), Ok(WaitResult::Event { more: 0 }));
    assert_eq!(event, Event::Software(2));
}

pub(super) fn waits_and_dequeues_in_turn_take_each_completion_in_order() {
    const COUNT: u32 = 20;
    let (node, client, server) = linked_pair();
    post_messages(&client, &server, 0..COUNT.into());
    // Outstanding until the disconnect flushes it.
    server.post_recv(&[], COUNT.into(), NONE).expect("connected");
    let mut event = Event::default();
    // Once all have arrived, the numbers of remaining events are known.
    let mut waited = node.recv.wait(LIMIT.into(), COUNT, &mut event);
    for cookie in 0..COUNT {
        assert_eq!(waited, Ok(WaitResult::Event { more: COUNT - 1 - cookie }));
        let Event::Dto(completion) = event else { panic!("a completion expected: {event:?}") };
        assert_eq!((completion.cookie, completion.status), (cookie.into(), DtoStatus::Success));
        event = Event::default();
        waited = match cookie % 3 {
            0 => node.recv.wait(LIMIT.into(), 1, &mut event),
            1 => node.recv.wait(Timeout::ZERO, 1, &mut event),
            _ => {
                let taken = node.recv.dequeue(&mut event);
                taken.map(|_| WaitResult::Event { more: COUNT - 2 - cookie })
            }
        };
    }
    assert_eq!((waited, event), (Ok(WaitResult::TimedOut { queued: 0 }), Event::None));
    client.disconnect(Close::Abrupt).expect("connected");
    expect_completion(&node.recv, &[&server], COUNT.into(), DtoStatus::Flushed);
}

pub(super) fn a_timeout_elapses_and_returns_the_number_of_events() {
    let evd = software(4);
    evd.post_software_event(1).expect("within the limit");
    let began = Instant::now();
    let time = Duration::from_millis(20);
    let waited = evd.wait(time.into(), 2, &mut Event::default());
    assert_eq!(waited, Ok(WaitResult::TimedOut { queued: 1 }));
    assert!(began.elapsed() >= time);
    assert_eq!(drain(&evd), [Event::Software(1)]);
}

pub(super) fn thresholds_above_the_queue_length_are_refused() {
    let evd = software(4);
    let qlen = evd.query().expect("live").qlen;
    let mut event = Event::default();
    for threshold in [0, qlen + 1, u32::MAX] {
        refused(evd.wait(Timeout::Infinite, threshold, &mut event), Subtype::InvalidArg3);
    }
    evd.resize(qlen + 1).expect("the adapter has more");
    let waited = evd.wait(Timeout::ZERO, qlen + 1, &mut event);
    assert_eq!(waited, Ok(WaitResult::TimedOut { queued: 0 }));
}

pub(super) fn a_waiter_wakes_at_its_threshold_and_not_before() {
    let evd = software(8);
    let thread = owner(&evd, 3);
    post_events(&evd, [1, 2]);
    // The waiter still owns the dispatcher.
    refused(evd.dequeue(&mut Event::default()), Subtype::InvalidStateEvdWaiter);
    evd.post_software_event(3).expect("within the limit");
    let (waited, event) = thread.join().expect("woken");
    assert_eq!((waited, event), (WaitResult::Event { more: 2 }, Event::Software(1)));
    assert_eq!(drain(&evd), [Event::Software(2), Event::Software(3)]);
}

pub(super) fn the_threshold_counts_events_of_all_streams() {
    let node = Node::new();
    let evd = node.evd(EvdFlags::all());
    let client = node.ep_of(&EpSpec::new(&node.pz).recv_evd(&evd).request_evd(&evd));
    let server = node.linked_to(&client);
    let thread = owner(&evd, 3);
    post_message((&client, 2), (&server, 1));
    evd.post_software_event(3).expect("within the limit");
    post_message((&server, 5), (&client, 4));
    let (waited, event) = thread.join().expect("woken");
    assert!(matches!(waited, WaitResult::Event { more } if more >= 2), "{waited:?}");
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

pub(super) fn a_waiter_has_exclusive_access() {
    let evd = software(8);
    let thread = owner(&evd, 1);
    let mut event = Event::default();
    for timeout in [Timeout::ZERO, Timeout::Infinite] {
        refused(evd.wait(timeout, 1, &mut event), Subtype::InvalidStateEvdWaiter);
    }
    refused(evd.dequeue(&mut event), Subtype::InvalidStateEvdWaiter);
    refused(evd.free(), Subtype::InvalidStateEvdWaiter);
    evd.post_software_event(1).expect("others may post");
    assert_eq!(thread.join().expect("woken").1, Event::Software(1));
    evd.post_software_event(2).expect("within the limit");
    assert_eq!(evd.dequeue(&mut event), Ok(true), "it is free again");
    evd.free().expect("no thread waits");
}

pub(super) fn a_timeout_releases_the_dispatcher() {
    let evd = software(8);
    let waited = evd.wait(Duration::from_millis(1).into(), 1, &mut Event::default());
    assert_eq!(waited, Ok(WaitResult::TimedOut { queued: 0 }));
    expect_no_event(&evd);
    evd.free().expect("no thread waits");
}

pub(super) fn an_unwaitable_dispatcher_only_refuses_waits() {
    let evd = software(8);
    evd.set_unwaitable().expect("live");
    evd.set_unwaitable().expect("twice is once");
    let mut event = Event::default();
    for timeout in [Timeout::ZERO, Timeout::Infinite] {
        refused(evd.wait(timeout, 1, &mut event), Subtype::InvalidStateEvdUnwaitable);
    }
    evd.post_software_event(1).expect("events arrive");
    assert_eq!(evd.dequeue(&mut event), Ok(true), "and are dequeued");
    evd.clear_unwaitable().expect("live");
    assert!(evd.query().expect("live").waitable);
    evd.post_software_event(2).expect("within the limit");
    assert_eq!(expect_event(&evd, &[]), Event::Software(2));
}

pub(super) fn a_blocked_waiter_returns_when_the_dispatcher_becomes_unwaitable() {
    let evd = software(8);
    let thread = owner(&evd, 2);
    evd.post_software_event(1).expect("within the limit");
    evd.set_unwaitable().expect("live");
    refused(thread.join(), Subtype::InvalidStateEvdUnwaitable);
    assert_eq!(drain(&evd), [Event::Software(1)], "nothing is lost");
}

pub(super) fn a_blocked_waiter_returns_even_if_the_dispatcher_becomes_waitable_again() {
    // The page: blocked threads are awakened and return without any further action.
    for _ in 0..rounds(200) {
        let evd = software(8);
        let thread = owner(&evd, 1);
        evd.set_unwaitable().expect("live");
        evd.clear_unwaitable().expect("live");
        refused(thread.join(), Subtype::InvalidStateEvdUnwaitable);
    }
}

pub(super) fn no_wake_up_is_lost_to_a_waiter() {
    const EVENTS: u64 = 20_000;
    let evd = software(64);
    let producer = produce(&evd, EVENTS);
    for value in 0..EVENTS {
        assert_eq!(expect_event(&evd, &[]), Event::Software(value));
    }
    producer.join();
}

/// An endpoint whose requests are unsignalled, connected with one without a dispatcher for requests.
fn unsignalled_pair(node: &Node) -> (Ep, Ep) {
    let client = node.ep_with(|it| it.request_completion_flags = CompletionFlags::UNSIGNALLED);
    let server = node.ep_of(&EpSpec::new(&node.pz).recv_evd(&node.recv).connect_evd(&node.connect));
    link(node, &client, node, &server);
    (client, server)
}

/// Starts a thread that waits for the completion of a request; returns when it does.
fn request_waiter(node: &Node) -> Background<Result<(WaitResult, Event)>> {
    let thread = waiter(&node.request, 1);
    until("the thread waits", || {
        node.request.free().is_err_and(|error| error.subtype() == Subtype::InvalidStateEvdWaiter)
    });
    thread
}

pub(super) fn only_signalled_completions_wake_a_waiter() {
    let node = Node::new();
    let (client, server) = unsignalled_pair(&node);
    post_receives(&server, 0..3);
    let thread = request_waiter(&node);
    thread.until_asleep();
    client.post_send(&[], 1, CompletionFlags::UNSIGNALLED).expect("the endpoint has the flag");
    expect_dto(&node.recv, &[&client, &server]);
    refused(node.request.dequeue(&mut Event::default()), Subtype::InvalidStateEvdWaiter);
    client.post_send(&[], 2, NONE).expect("connected");
    let (waited, event) = thread.join().expect("woken");
    assert_eq!(waited, WaitResult::Event { more: 1 });
    assert!(matches!(event, Event::Dto(completion) if completion.cookie == 1), "the first");
    assert_eq!(expect_dto(&node.request, &[&client]).cookie, 2);
}

pub(super) fn an_error_notifies_also_when_the_post_is_unsignalled() {
    let node = Node::new();
    let (client, server) = unsignalled_pair(&node);
    client.post_send(&[], 1, CompletionFlags::UNSIGNALLED).expect("connected");
    let thread = request_waiter(&node);
    server.disconnect(Close::Abrupt).expect("connected");
    let (_, event) = thread.join().expect("woken");
    assert!(
        matches!(event, Event::Dto(completion) if completion.status == DtoStatus::Flushed),
        "{event:?}"
    );
}
