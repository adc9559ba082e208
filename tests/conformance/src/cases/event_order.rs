//! The event of a connection comes before the first completion on it (dat_ep_connect(3DAT),
//! dat_cr_accept(3DAT)), although the data may arrive before the transport's last word. If a fault can be
//! injected, the adapter reports the connection only when a receive has completed.

use crate::prelude::*;

cases! {
    "dat_cr_accept(3DAT)":
        a_message_sent_at_once_arrives_after_the_connection,
        on_one_dispatcher_the_accepted_connection_comes_before_its_first_receive,
        on_two_dispatchers_the_accepted_connection_is_queued_before_its_first_receive,
        a_waiter_that_sleeps_gets_the_connection_before_the_first_receive,
        a_threshold_counts_the_connection_and_the_receive,
        a_notification_object_reports_both,
        an_armed_descriptor_reports_both,
        receives_of_a_shared_queue_follow_the_connection,
        receives_of_other_endpoints_are_not_held_back,
        a_receive_of_an_earlier_connection_does_not_establish_the_next,
        abandoning_an_attempt_keeps_completed_receives;
    "dat_ep_connect(3DAT)":
        on_the_active_side_the_connection_comes_before_its_first_receive;
}

const LATE_ON_ACCEPT: &str = "fault.late_established=accept";
const LATE_ON_CONNECT: &str = "fault.late_established=connect";

/// An endpoint whose receives and connection events come to one dispatcher.
#[track_caller]
fn merged(node: &Node) -> (Evd, Ep) {
    let evd = node.evd(EvdFlags::DTO | EvdFlags::CONNECTION);
    let ep = node.ep_of(&node.spec().recv_evd(&evd).connect_evd(&evd));
    (evd, ep)
}

/// An adapter that reports an accepted connection late, and a [`merged`] endpoint on it.
#[track_caller]
fn late() -> (Node, Evd, Ep) {
    let node = Node::with(LATE_ON_ACCEPT);
    let (evd, ep) = merged(&node);
    (node, evd, ep)
}

/// Has one endpoint ask and the other accept; takes no event of either.
#[track_caller]
fn meet(node: &Node, client: &Ep, server: &Ep) {
    let psp = node.psp();
    client.connect(&Connect::to(node.address(), psp.qualifier())).expect("unconnected");
    expect_request(&node.requests).request.accept(Some(server), b"").expect("unconnected");
    psp.free().expect("free at any time");
}

/// Takes the event of the connection and then a receive, which must come in that order.
#[track_caller]
fn expect_both(evd: &Evd, ep: &Ep, cookie: u64) {
    expect_established(&expect_event(evd, &[ep]), ep);
    expect_receive(&expect_event(evd, &[ep]), ep, cookie);
}

#[track_caller]
fn expect_established(event: &Event, ep: &Ep) {
    let Event::Connection(connection) = event else { panic!("{event:?} before the connection") };
    assert_eq!((connection.kind, connection.ep), (ConnectionEventKind::Established, ep.id()));
    assert_eq!(state(ep), EpState::Connected);
}

#[track_caller]
fn expect_receive(event: &Event, ep: &Ep, cookie: u64) {
    let Event::Dto(DtoCompletion { ep: of, cookie: with, status, .. }) = event else {
        panic!("{event:?} instead of a receive")
    };
    assert_eq!((*of, *with, *status), (ep.id(), cookie, DtoStatus::Success));
}

/// A client that is connected and a server that waits for the last word, and has two receives; the
/// client has sent a message for the first.
#[track_caller]
fn half_way(node: &Node, server: &Ep) -> Ep {
    let client = node.ep();
    post_receives(server, [1, 2]);
    meet(node, &client, server);
    expect_connection(&node.connect, &client, ConnectionEventKind::Established);
    assert_eq!(state(server), EpState::CompletionPending);
    client.post_send(&[], 0, NONE).expect("connected");
    // The message has been received by then.
    assert_eq!(expect_dto(&node.request, &[&client, server]).status, DtoStatus::Success);
    client
}

fn a_message_sent_at_once_arrives_after_the_connection() {
    let node = Node::new();
    let (evd, server) = merged(&node);
    let client = node.ep();
    let mut event = Event::default();
    for round in 0..20 {
        server.post_recv(&[], round, NONE).expect("possible in every state");
        let (sending, events) = (client.clone(), node.connect.clone());
        let sender = Background::run(move || {
            expect_connection(&events, &sending, ConnectionEventKind::Established);
            sending.post_send(&[], 0, NONE).expect("connected");
        });
        meet(&node, &client, &server);
        let mut next = || {
            if round % 2 == 0 {
                return expect_event(&evd, &[&server]);
            }
            until("an event comes", || evd.dequeue(&mut event).expect("live"));
            std::mem::take(&mut event)
        };
        expect_established(&next(), &server);
        expect_receive(&next(), &server, round);
        sender.join();
        client.disconnect(Close::Abrupt).expect("connected");
        expect_connection(&node.connect, &client, ConnectionEventKind::Disconnected);
        expect_connection(&evd, &server, ConnectionEventKind::Disconnected);
        client.reset().expect("disconnected");
        server.reset().expect("disconnected");
    }
}

fn on_one_dispatcher_the_accepted_connection_comes_before_its_first_receive() {
    let (node, evd, server) = late();
    let client = half_way(&node, &server);
    // Another thread of the provider may report the connection, so each event may take a moment.
    expect_both(&evd, &server, 1);
    client.post_send(&[], 0, NONE).expect("connected");
    expect_receive(&expect_event(&evd, &[&server]), &server, 2);
    expect_no_event(&evd);
}

fn on_two_dispatchers_the_accepted_connection_is_queued_before_its_first_receive() {
    for waits in [false, true] {
        let node = Node::with(LATE_ON_ACCEPT);
        let connections = node.evd(EvdFlags::CONNECTION);
        let server = node.ep_of(&node.spec().connect_evd(&connections));
        let _client = half_way(&node, &server);
        let mut event = Event::default();
        let early = connections.dequeue(&mut event).expect("live");
        assert!(!early, "no connection event before a receive completes");
        if waits {
            let waited = node.recv.wait(Timeout::Infinite, 1, &mut event);
            assert_eq!(waited.expect("an event"), WaitResult::Event { more: 0 });
        } else {
            event = expect_event(&node.recv, &[&server]);
        }
        expect_receive(&event, &server, 1);
        assert!(connections.dequeue(&mut event).expect("live"), "raised before");
        expect_established(&event, &server);
        expect_no_event(&connections);
    }
}

fn a_waiter_that_sleeps_gets_the_connection_before_the_first_receive() {
    let (node, evd, server) = late();
    let waiter = Background::with(&evd, |evd| {
        [0, 1].map(|_| {
            let mut event = Event::default();
            evd.wait(Timeout::Infinite, 1, &mut event).expect("an event");
            event
        })
    });
    until_owned(&evd);
    let _client = half_way(&node, &server);
    let [first, second] = waiter.join();
    expect_established(&first, &server);
    expect_receive(&second, &server, 1);
}

fn a_threshold_counts_the_connection_and_the_receive() {
    let (node, evd, server) = late();
    let waiter = waiter(&evd, 2);
    until_owned(&evd);
    let _client = half_way(&node, &server);
    let (waited, event) = waiter.join().expect("two events");
    assert_eq!(waited, WaitResult::Event { more: 1 });
    expect_established(&event, &server);
    expect_receive(&expect_event(&evd, &[&server]), &server, 1);
}

fn a_notification_object_reports_both() {
    let (node, evd, server) = late();
    let cno = node.ia.cno_create(None).expect("a notification object");
    evd.modify_cno(Some(&cno)).expect("live");
    let _client = half_way(&node, &server);
    let mut events = Vec::new();
    while events.len() < 2 {
        let triggering = cno.wait(Timeout::Infinite).expect("it is triggered");
        assert_eq!(triggering, Some(evd.clone()));
        let mut event = Event::default();
        while evd.dequeue(&mut event).expect("live") {
            events.push(std::mem::take(&mut event));
        }
    }
    expect_established(&events[0], &server);
    expect_receive(&events[1], &server, 1);
}

fn an_armed_descriptor_reports_both() {
    let (node, evd, server) = late();
    let _client = half_way(&node, &server);
    assert!(evd.arm().expect("live"), "there is something to take");
    expect_both(&evd, &server, 1);
    assert!(!evd.arm().expect("live"), "nothing is left");
}

fn on_the_active_side_the_connection_comes_before_its_first_receive() {
    let node = Node::with(LATE_ON_CONNECT);
    let (evd, client) = merged(&node);
    let server = node.ep();
    client.post_recv(&[], 7, NONE).expect("possible in every state");
    meet(&node, &client, &server);
    expect_connection(&node.connect, &server, ConnectionEventKind::Established);
    assert_eq!(state(&client), EpState::ActiveConnectionPending);
    server.post_send(&[], 0, NONE).expect("connected");
    expect_both(&evd, &client, 7);
}

fn receives_of_a_shared_queue_follow_the_connection() {
    let node = Node::with(LATE_ON_ACCEPT);
    let srq = node.srq(4);
    let evd = node.evd(EvdFlags::DTO | EvdFlags::CONNECTION);
    let server = node.ep_of(&node.spec().recv_evd(&evd).connect_evd(&evd).srq(&srq));
    srq.post_recv(&[], 5).expect("within the limit");
    let client = node.ep();
    meet(&node, &client, &server);
    expect_connection(&node.connect, &client, ConnectionEventKind::Established);
    client.post_send(&[], 0, NONE).expect("connected");
    expect_both(&evd, &server, 5);
}

fn receives_of_other_endpoints_are_not_held_back() {
    let node = Node::with(LATE_ON_ACCEPT);
    let (first, second) = (node.ep(), node.ep());
    let client = half_way(&node, &first);
    let connections = node.evd(EvdFlags::CONNECTION);
    let mut event = Event::default();
    until("the receive", || node.recv.dequeue(&mut event).expect("live"));
    expect_receive(&event, &first, 1);
    expect_connection(&node.connect, &first, ConnectionEventKind::Established);
    // The second attempt waits, and no data comes on it.
    let quiet = node.ep_of(&node.spec().connect_evd(&connections));
    meet(&node, &quiet, &second);
    assert_eq!(state(&second), EpState::CompletionPending);
    client.post_send(&[], 0, NONE).expect("connected");
    expect_receive(&expect_event(&node.recv, &[&first]), &first, 2);
    assert_eq!(state(&second), EpState::CompletionPending);
}

fn a_receive_of_an_earlier_connection_does_not_establish_the_next() {
    let node = Node::with(LATE_ON_ACCEPT);
    let server = node.ep();
    let client = half_way(&node, &server);
    client.post_send(&[], 0, NONE).expect("connected");
    expect_receive(&expect_event(&node.recv, &[&server]), &server, 1);
    expect_connection(&node.connect, &server, ConnectionEventKind::Established);
    client.disconnect(Close::Abrupt).expect("connected");
    expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Disconnected);
    client.reset().expect("disconnected");
    server.reset().expect("disconnected");
    meet(&node, &client, &server);
    expect_connection(&node.connect, &client, ConnectionEventKind::Established);
    expect_receive(&expect_event(&node.recv, &[&server]), &server, 2);
    assert_eq!(state(&server), EpState::CompletionPending);
    expect_no_event(&node.connect);
}

fn abandoning_an_attempt_keeps_completed_receives() {
    let (node, evd, server) = late();
    let _client = half_way(&node, &server);
    server.disconnect(Close::Abrupt).expect("pending");
    let mut cookies = Vec::new();
    let mut ends = 0;
    while cookies.len() < 2 || ends == 0 {
        match expect_event(&evd, &[&server]) {
            Event::Dto(completion) => cookies.push((completion.cookie, completion.status)),
            Event::Connection(connection) => {
                assert_eq!(connection.kind, ConnectionEventKind::Disconnected);
                ends += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(cookies, [(1, DtoStatus::Success), (2, DtoStatus::Flushed)]);
    expect_no_event(&evd);
}
