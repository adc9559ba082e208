//! Queues that overflow, and the order of events in one queue.

use crate::prelude::*;

/// Posts receives that are flushed at once: the fastest way to get many completions.
fn flood(node: &Node, evd: &Evd, count: u64) -> Ep {
    let ep = node.ep_of(&node.spec().recv_evd(evd));
    post_receives(&ep, 0..count);
    ep.connect(&Connect::to(node.address(), 1)).expect("no service point listens there");
    expect_connection(&node.connect, &ep, ConnectionEventKind::NonPeerRejected);
    ep
}

pub(super) fn completions_within_the_length_are_never_lost() {
    let node = Node::new();
    let evd = node.evd_of(16, EvdFlags::DTO);
    let ep = flood(&node, &evd, 16);
    for cookie in 0..16 {
        expect_completion(&evd, &[&ep], cookie, DtoStatus::Flushed);
    }
    expect_no_event(&node.ia.async_evd().expect("made by the open"));
}

pub(super) fn an_overflow_of_completions_is_reported_once_until_it_is_drained() {
    let node = Node::new();
    let asynchronous = node.ia.async_evd().expect("made by the open");
    let evd = node.evd_of(4, EvdFlags::DTO);
    for dequeue in [true, false, true] {
        let _ep = flood(&node, &evd, 8);
        expect_async(&asynchronous, AsyncErrorKind::EvdOverflow, evd.id());
        expect_no_event(&asynchronous);
        if dequeue {
            assert!(drain(&evd).len() >= 4);
        } else {
            // A consumer that only waits detects an empty queue by the count.
            let mut event = Event::default();
            while let WaitResult::Event { more } =
                evd.wait(LIMIT.into(), 1, &mut event).expect("waitable")
            {
                if more == 0 {
                    break;
                }
            }
        }
    }
}

pub(super) fn an_overflow_by_requests_is_reported_once_until_it_is_drained() {
    let node = Node::new();
    let asynchronous = node.ia.async_evd().expect("made by the open");
    let evd = node.evd_of(1, EvdFlags::CONNECTION_REQUEST);
    let psp = node.ia.psp_create_any(&evd, EpProvision::Consumer).expect("a service point");
    for _ in 0..3 {
        let eps = [0, 1, 2].map(|_| node.connecting(psp.qualifier()));
        expect_async(&asynchronous, AsyncErrorKind::EvdOverflow, evd.id());
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

pub(super) fn connection_events_beyond_the_length_are_kept_and_the_overflow_reported() {
    let node = Node::new();
    let asynchronous = node.ia.async_evd().expect("made by the open");
    let evd = node.evd_of(1, EvdFlags::CONNECTION);
    let spec = node.spec().connect_evd(&evd);
    let eps = [0, 1, 2].map(|_| {
        let ep = node.ep_of(&spec);
        ep.connect(&Connect::to(node.address(), 1)).expect("no service point listens there");
        ep
    });
    expect_async(&asynchronous, AsyncErrorKind::EvdOverflow, evd.id());
    expect_no_event(&asynchronous);
    expect_connections(&evd, &[&eps[0], &eps[1], &eps[2]], ConnectionEventKind::NonPeerRejected);
}

pub(super) fn completions_come_before_the_disconnect_on_one_dispatcher() {
    let node = Node::new();
    let evd = node.evd(EvdFlags::all());
    let spec = EpSpec::new(&node.pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd);
    for how in [Close::Abrupt, Close::Graceful] {
        let client = node.ep_of(&spec);
        let server = node.linked_to(&client);
        drain(&evd);
        for cookie in 0..10 {
            post_message((&client, cookie), (&server, cookie));
            client.post_recv(&[], 100 + cookie, NONE).expect("connected");
        }
        let mut event = Event::default();
        evd.wait(LIMIT.into(), 10, &mut event).expect("the sends complete");
        evd.post_software_event(1).expect("within the limit");
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
        // The cookies of the completions with a status.
        let cookies = |events: &[Event], status| -> Vec<u64> {
            let is_it = |event: &Event| match event {
                Event::Dto(completion) if completion.status == status => Some(completion.cookie),
                _ => None,
            };
            events.iter().filter_map(is_it).collect()
        };
        let sent = cookies(&events, DtoStatus::Success);
        assert_eq!(sent.len(), 10, "every success precedes the end: {events:?}");
        events.extend(drain(&evd));
        let flushed = cookies(&events, DtoStatus::Flushed);
        assert_eq!(flushed, (100..110).collect::<Vec<_>>(), "in posting order, each once");
        drain(&node.connect);
        drain(&node.recv);
    }
}
