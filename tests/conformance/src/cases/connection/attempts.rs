//! Attempts to connect, and their answers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use crate::fault_provider;
use crate::prelude::*;

/// Makes an attempt that must fail. Checks the event and that no other follows, the state, the
/// flushed receives, and that the endpoint can connect again only after a reset.
#[track_caller]
fn fails(node: &Node, connect: &Connect<'_>, kind: ConnectionEventKind) {
    let ep = node.ep();
    post_receives(&ep, 0..3);
    ep.connect(connect).expect("unconnected");
    expect_connection(&node.connect, &ep, kind);
    assert_eq!(state(&ep), EpState::Disconnected);
    until("the receives are flushed", || ep.status().expect("live").recv_idle);
    assert_eq!(flushed(&node.recv, &ep), [0, 1, 2]);
    expect_no_event(&node.connect);
    refused(ep.connect(connect), Subtype::InvalidStateEpDisconnected);
    ep.reset().expect("disconnected");
    assert_eq!(state(&ep), EpState::Unconnected);
    ep.free().expect("unconnected");
}

pub(super) fn a_qualifier_without_a_listener_is_a_non_peer_reject() {
    let node = Node::new();
    fails(&node, &Connect::to(node.address(), 1), ConnectionEventKind::NonPeerRejected);
    node.finish();
}

pub(super) fn an_address_without_a_host_is_unreachable() {
    let node = Node::new();
    let nowhere = Ipv4Addr::new(127, 255, 255, 254);
    fails(&node, &Connect::to(nowhere, 1), ConnectionEventKind::Unreachable);
    node.finish();
}

pub(super) fn the_unspecified_address_is_that_of_the_adapter() {
    let (node, psp) = with_psp();
    let unspecified: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    for any in unspecified {
        let ep = node.ep();
        ep.connect(&Connect::to(any, psp.qualifier())).expect("unconnected");
        expect_request(&node.requests).request.reject(b"").expect("live");
        expect_connection(&node.connect, &ep, ConnectionEventKind::PeerRejected);
        ep.free().expect("disconnected");
    }
    node.finish_with(&[&psp]);
}

pub(super) fn an_unanswered_attempt_times_out() {
    let (node, psp) = with_psp();
    let mut time = Duration::from_millis(30);
    let mut event = Event::default();
    loop {
        let began = Instant::now();
        let connect = Connect::to(node.address(), psp.qualifier()).timeout(time);
        fails(&node, &connect, ConnectionEventKind::TimedOut);
        assert!(began.elapsed() >= time, "not before its time");
        let soon = Timeout::from(Duration::from_secs(1));
        if let Ok(WaitResult::Event { .. }) = node.requests.wait(soon, 1, &mut event) {
            break;
        }
        // On a slow path the time may be over before the request is sent.
        time *= 5;
        assert!(time < LIMIT, "no request arrives");
    }
    // The request is still valid, but accepting it cannot complete any more.
    let Event::ConnectionRequest(arrival) = event else { panic!("{event:?}") };
    let request = arrival.request;
    let server = node.ep();
    post_receives(&server, 0..3);
    request.accept(Some(&server), b"").expect("only the transport can see it");
    expect_connection(&node.connect, &server, ConnectionEventKind::AcceptCompletionError);
    assert_eq!(state(&server), EpState::Disconnected);
    assert_eq!(flushed(&node.recv, &server), [0, 1, 2]);
}

pub(super) fn an_answer_in_time_cancels_the_timeout() {
    let mut time = Duration::from_millis(200);
    while !is_answered_within(time) {
        // On a slow path the answer may be late.
        time *= 5;
        assert!(time < LIMIT, "no answer is in time");
    }
}

/// Connects two endpoints with a timeout, of which one is accepted and one rejected. Returns false if an answer was late.
fn is_answered_within(time: Duration) -> bool {
    let (node, psp) = with_psp();
    let began = Instant::now();
    let [(accepted, server), (rejected, _)] = &[true, false].map(|accepted| {
        let (client, server) = (node.ep(), node.ep());
        let connect = Connect::to(node.address(), psp.qualifier()).timeout(time);
        client.connect(&connect).expect("unconnected");
        let request = expect_request(&node.requests).request;
        if accepted {
            request.accept(Some(&server), b"").expect("only the transport sees that it is late");
        } else {
            request.reject(b"").expect("live");
        }
        (client, server)
    });
    let all = [accepted, server, rejected];
    let events = all.map(|_| match expect_event(&node.connect, &all) {
        Event::Connection(event) => (event.ep, event.kind),
        event => panic!("{event:?}"),
    });
    let took = began.elapsed();
    if took >= time {
        return false;
    }
    for (ep, kind) in [
        (accepted, ConnectionEventKind::Established),
        (server, ConnectionEventKind::Established),
        (rejected, ConnectionEventKind::PeerRejected),
    ] {
        assert!(events.contains(&(ep.id(), kind)), "{events:?}");
    }
    std::thread::sleep(time + Duration::from_millis(100) - took);
    expect_no_event(&node.connect);
    assert_eq!(state(accepted), EpState::Connected);
    assert_eq!(state(rejected), EpState::Disconnected);
    true
}

pub(super) fn the_timeout_of_an_attempt_does_not_end_the_next() {
    let (node, psp) = with_psp();
    let client = node.ep();
    let connect = Connect::to(node.address(), psp.qualifier());
    client.connect(&connect.clone().timeout(Duration::from_millis(50))).expect("unconnected");
    client.disconnect(Close::Abrupt).expect("pending");
    client.reset().expect("disconnected");
    client.connect(&connect).expect("unconnected");
    drain(&node.connect);
    std::thread::sleep(Duration::from_millis(120));
    expect_no_event(&node.connect);
    assert_eq!(state(&client), EpState::ActiveConnectionPending);
}

pub(super) fn a_reject_by_the_consumer_is_a_peer_reject() {
    let (node, psp) = with_psp();
    let client = node.ep();
    post_receives(&client, 0..3);
    client.connect(&Connect::to(node.address(), psp.qualifier())).expect("unconnected");
    expect_request(&node.requests).request.reject(b"not today").expect("live");
    let event = expect_connection(&node.connect, &client, ConnectionEventKind::PeerRejected);
    arrived(&event.private_data, b"not today");
    assert_eq!(state(&client), EpState::Disconnected);
    assert_eq!(flushed(&node.recv, &client), [0, 1, 2]);
    expect_no_event(&node.connect);
}

pub(super) fn an_accept_establishes_the_connection_with_one_event_per_side() {
    let (near, far) = (Node::new(), Node::new());
    let psp = far.psp();
    let (client, server) = (near.ep(), far.ep());
    post_receives(&client, 0..3);
    post_receives(&server, 0..3);
    let connect = Connect::to(far.address(), psp.qualifier()).private_data(b"hello");
    client.connect(&connect).expect("unconnected");
    assert_eq!(state(&client), EpState::ActiveConnectionPending);
    expect_request(&far.requests).request.accept(Some(&server), b"welcome").expect("unconnected");
    expect_connection(&far.connect, &server, ConnectionEventKind::Established);
    let event = expect_connection(&near.connect, &client, ConnectionEventKind::Established);
    arrived(&event.private_data, b"welcome");
    for (node, ep, peer) in [(&near, &client, &far), (&far, &server, &near)] {
        assert_eq!(state(ep), EpState::Connected);
        assert_eq!(ep.query().expect("live").remote_address, Some(peer.address()));
        assert!(!ep.status().expect("live").recv_idle, "preposted receives stay");
        expect_no_events(&[&node.recv, &node.connect]);
    }
}

pub(super) fn the_ports_are_known_from_the_connect_call_on() {
    let (node, psp) = with_psp();
    let (client, server) = (node.connecting(psp.qualifier()), node.ep());
    let asking = client.query().expect("live");
    assert_eq!(asking.state, EpState::ActiveConnectionPending);
    assert_eq!(asking.remote_address, Some(node.address()));
    assert_eq!(asking.remote_port, Some(psp.qualifier()));
    let request = expect_request(&node.requests).request;
    let port = request.query().expect("live").remote_port;
    assert_ne!(port, 0);
    assert_eq!(asking.local_port, port, "what the request says of its peer");
    request.accept(Some(&server), b"").expect("unconnected");
    expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Established);
    assert_eq!(client.query().expect("live").local_port, port);
}

pub(super) fn invalid_arguments_are_refused_and_change_nothing() {
    let node = Node::on(fault_provider::open("max_private_data_size=4", |it| {
        it.provider.qos_supported = Qos::empty();
    }));
    let ep = node.ep();
    let to = Connect::to(node.address(), 1);
    refused(ep.connect(&to.clone().timeout(Timeout::ZERO)), Subtype::InvalidArg4);
    refused(ep.connect(&to.clone().private_data(b"fifth")), Subtype::InvalidArg5);
    let premium = Connect { qos: Qos::PREMIUM, ..to.clone() };
    refused(ep.connect(&premium), ReturnType::ModelNotSupported);
    let unknown = Connect { flags: ConnectFlags::from_bits_retain(0x80), ..to.clone() };
    refused(ep.connect(&unknown), Subtype::InvalidArg8);
    let required = Connect { flags: ConnectFlags::MULTIPATH_REQUIRED, ..to.clone() };
    refused(ep.connect(&required), ReturnType::ModelNotSupported);
    assert_eq!(state(&ep), EpState::Unconnected);
    expect_no_event(&node.connect);
    let wished = Connect { flags: ConnectFlags::MULTIPATH, ..to };
    ep.connect(&wished).expect("a wish can be left unfulfilled");
}

pub(super) fn in_every_state_but_unconnected_a_connect_is_refused() {
    in_every_state(|node, staged, wanted| {
        let psp = node.psp();
        let before = staged.ep.query().expect("live");
        let connected = staged.ep.connect(&Connect::to(node.address(), psp.qualifier()));
        if wanted == EpState::Unconnected {
            connected.expect("unconnected");
            assert_eq!(state(&staged.ep), EpState::ActiveConnectionPending);
            return;
        }
        let error = connected.expect_err("not unconnected");
        assert_eq!(error.return_type(), ReturnType::InvalidState, "in {wanted}: {error}");
        assert_eq!(staged.ep.query().expect("live"), before);
        expect_no_event(&node.requests);
    });
}

pub(super) fn a_duplicate_connects_to_the_same_service_point() {
    let (near, far) = (Node::new(), Node::new());
    let psp = far.psp();
    let (client, server) = (near.ep(), far.ep());
    client.connect(&Connect::to(far.address(), psp.qualifier())).expect("unconnected");
    expect_request(&far.requests).request.accept(Some(&server), b"").expect("unconnected");
    expect_connection(&near.connect, &client, ConnectionEventKind::Established);
    let (twin, twin_server) = (near.ep(), far.ep());
    let dup = |ep: &Ep, of: &Ep, timeout, data| ep.dup_connect(of, timeout, data, Qos::BEST_EFFORT);
    // The time-out is argument 3, the size of the private data is argument 4.
    refused(dup(&twin, &client, Timeout::ZERO, b""), Subtype::InvalidArg3);
    refused(dup(&twin, &client, Timeout::Infinite, &[0; 4096]), Subtype::InvalidArg4);
    // The passive side did not choose where to connect.
    assert!(dup(&twin, &server, Timeout::Infinite, b"").is_err());
    let lonely = near.ep();
    let unconnected = dup(&twin, &lonely, Timeout::Infinite, b"");
    refused(unconnected, Subtype::InvalidStateEpUnconnected);
    assert_eq!(state(&twin), EpState::Unconnected);
    dup(&twin, &client, Timeout::Infinite, b"again").expect("connected");
    let arrival = expect_request(&far.requests);
    assert_eq!(arrival.qualifier, psp.qualifier());
    arrived(&arrival.request.query().expect("live").private_data, b"again");
    arrival.request.accept(Some(&twin_server), b"").expect("unconnected");
    expect_connection(&near.connect, &twin, ConnectionEventKind::Established);
    client.disconnect(Close::Abrupt).expect("connected");
    expect_connection(&near.connect, &client, ConnectionEventKind::Disconnected);
    refused(dup(&lonely, &client, Timeout::Infinite, b""), Subtype::InvalidStateEpDisconnected);
    refused(dup(&twin, &twin, Timeout::Infinite, b""), Subtype::InvalidStateEpConnected);
}

pub(super) fn an_endpoint_without_a_zone_does_not_connect() {
    let node = Node::new();
    let staged = ep_in_state(&node, EpState::UnconfiguredUnconnected);
    let connected = staged.ep.connect(&Connect::to(node.address(), 1));
    fails_with(connected, ReturnType::InvalidState);
    assert_eq!(state(&staged.ep), EpState::UnconfiguredUnconnected);
}
