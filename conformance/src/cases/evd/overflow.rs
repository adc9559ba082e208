//! Queues that overflow, and the order of events in one queue.

use crate::prelude::*;

/// Posts receives that are flushed at once: the fastest way to get many completions.
fn flood(node: &Node, evd: &EventDispatcher, count: u64) -> Endpoint {
    let spec = node.spec().recv_evd(evd);
    let ep = node.ia.ep_create(&spec).expect("an endpoint");
    for cookie in 0..count {
        ep.post_recv(&[], cookie, NONE).expect("unconnected");
    }
    ep.connect(&Connect::to(node.address(), 1)).expect("no service point listens there");
    expect_connection(&node.connect, &ep, ConnectionEventKind::NonPeerRejected);
    ep
}

pub(super) fn completions_within_the_length_are_never_lost() {
    let node = Node::new();
    let evd = node.ia.evd_create(&EvdOptions::new(16, EvdFlags::DTO)).expect("made");
    let ep = flood(&node, &evd, 16);
    for cookie in 0..16 {
        expect_completion(&evd, &[&ep], cookie, DtoStatus::Flushed);
    }
    expect_no_event(&node.ia.async_evd().expect("made by the open"));
}

pub(super) fn an_overflow_of_completions_is_reported_once_until_it_is_drained() {
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

pub(super) fn an_overflow_by_requests_is_reported_once_until_it_is_drained() {
    let node = Node::new();
    let asynchronous = node.ia.async_evd().expect("made by the open");
    let evd = node.ia.evd_create(&EvdOptions::new(1, EvdFlags::CONNECTION_REQUEST)).expect("made");
    let psp = node.ia.psp_create_any(&evd, PspMaker::Consumer).expect("a service point");
    for _ in 0..3 {
        let eps = [0, 1, 2].map(|_| node.connecting(psp.qualifier()));
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

pub(super) fn connection_events_beyond_the_length_are_kept_and_the_overflow_reported() {
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

pub(super) fn completions_come_before_the_disconnect_on_one_dispatcher() {
    let node = Node::new();
    let evd = node.evd(EvdFlags::all());
    let spec = EpSpec::new(&node.pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd);
    for how in [Close::Abrupt, Close::Graceful] {
        let client = node.ia.ep_create(&spec).expect("an endpoint");
        let server = node.ep();
        link(&node, &client, &node, &server);
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
