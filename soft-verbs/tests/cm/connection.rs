//! Connections of identifiers without queue pairs.

use std::net::TcpListener;
use std::sync::Arc;

use dat_soft_verbs::QueuePairType;
use dat_soft_verbs::cm::{
    ConnectParameters, Ece, EventChannel, EventKind, Identifier, Parameters, PortSpace,
};

use crate::sides::*;

#[test]
fn a_connection_without_queue_pairs_goes_through_all_events() {
    let mut sides = Sides::new(PortSpace::Tcp);
    let wanted = ConnectParameters {
        private_data: b"hello",
        responder_resources: 3,
        initiator_depth: 2,
        rnr_retry_count: 7,
        number: 0x12_3456,
        ..ConnectParameters::default()
    };
    let passive = sides.request(&wanted);
    let Parameters::Connection(seen) = &sides.requested else { panic!("not a connection") };
    assert_eq!(seen.private_data, b"hello");
    assert_eq!((seen.responder_resources, seen.initiator_depth), (2, 3));
    assert_eq!((seen.rnr_retry_count, seen.number), (7, 0x12_3456));
    assert_eq!(passive.peer_address(), sides.active.local_address());
    assert_eq!(passive.local_address(), sides.active.peer_address());
    let answer = ConnectParameters { private_data: b"welcome", number: 9, ..wanted };
    passive.accept(Some(&answer)).expect("a request waits");
    let event = expect(&sides.here, EventKind::ConnectResponse);
    let Parameters::Connection(seen) = event.parameters() else { panic!("not a connection") };
    assert_eq!((&seen.private_data[..], seen.number), (&b"welcome"[..], 9));
    sides.active.establish().expect("an answer waits");
    expect(&sides.there, EventKind::Established);
    drop(event);
    assert!(sides.active.disconnect().expect("connected"));
    expect(&sides.there, EventKind::Disconnected);
    assert!(sides.active.disconnect().is_ok_and(|is_first| !is_first));
    assert!(passive.disconnect().expect("connected"));
    expect(&sides.here, EventKind::Disconnected);
    expect(&sides.here, EventKind::TimewaitExit);
    expect(&sides.there, EventKind::TimewaitExit);
}

#[test]
fn a_rejection_has_its_data_and_its_reason() {
    let mut sides = Sides::new(PortSpace::Tcp);
    let passive = sides.request(&ConnectParameters::default());
    passive.reject(b"no", false).expect("a request waits");
    let event = expect(&sides.here, EventKind::Rejected);
    assert_eq!((event.status(), event.parameters()), (28, &Parameters::Data(b"no".to_vec())));
}

#[test]
fn without_a_listener_the_request_is_rejected() {
    let free = TcpListener::bind(at(0)).expect("free").local_addr().expect("bound");
    let (channel, id) = identifier(PortSpace::Tcp);
    resolve(&channel, &id, free);
    id.connect(&ConnectParameters::default()).expect("it begins");
    assert_eq!(expect(&channel, EventKind::Rejected).status(), 8);
}

#[test]
fn a_request_reaches_a_listener_that_begins_a_moment_later() {
    let free = TcpListener::bind(at(0)).expect("free").local_addr().expect("bound");
    let (channel, id) = identifier(PortSpace::Tcp);
    resolve(&channel, &id, free);
    id.connect(&ConnectParameters::default()).expect("it begins");
    let (there, listener) = identifier(PortSpace::Tcp);
    listener.bind(free).expect("free");
    listener.listen(1).expect("bound");
    let request = expect(&there, EventKind::ConnectRequest);
    request.identifier().accept(None).expect("a request waits");
    expect(&channel, EventKind::ConnectResponse);
}

#[test]
fn the_end_of_a_request_rejects_it_and_that_of_a_connection_disconnects() {
    let mut sides = Sides::new(PortSpace::Tcp);
    drop(sides.request(&ConnectParameters::default()));
    assert_eq!(expect(&sides.here, EventKind::Rejected).status(), 28);
    let (mut sides, passive) = connected();
    passive.destroy().expect("alive");
    expect(&sides.here, EventKind::Disconnected);
    sides.active.destroy().expect("alive");
    sides.active = identifier(PortSpace::Tcp).1;
}

#[test]
fn an_abandoned_request_is_reported_and_cannot_be_accepted() {
    let mut sides = Sides::new(PortSpace::Tcp);
    let passive = sides.request(&ConnectParameters::default());
    sides.active.destroy().expect("alive");
    assert_eq!(expect(&sides.there, EventKind::Rejected).status(), 4);
    assert_eq!(passive.accept(None).expect_err("given up").errno, libc::EINVAL);
}

#[test]
fn private_data_has_a_limit_in_each_message() {
    let mut sides = Sides::new(PortSpace::Tcp);
    let too_long = ConnectParameters { private_data: &[0; 57], ..Default::default() };
    assert_eq!(sides.active.connect(&too_long).expect_err("56").errno, libc::EINVAL);
    let passive = sides.request(&ConnectParameters { private_data: &[1; 56], ..too_long });
    assert_eq!(passive.reject(&[0; 149], false).expect_err("148").errno, libc::EINVAL);
    passive.accept(Some(&ConnectParameters { private_data: &[2; 196], ..too_long })).expect("196");
    let event = expect(&sides.here, EventKind::ConnectResponse);
    let Parameters::Connection(seen) = event.parameters() else { panic!("not a connection") };
    assert_eq!(seen.private_data, [2; 196]);
}

#[test]
fn an_answer_that_cannot_be_sent_rejects_the_request() {
    let mut sides = Sides::new(PortSpace::Tcp);
    let passive = sides.request(&ConnectParameters::default());
    let too_long = ConnectParameters { private_data: &[0; 197], ..Default::default() };
    assert_eq!(passive.accept(Some(&too_long)).expect_err("196").errno, libc::EINVAL);
    assert_eq!(expect(&sides.here, EventKind::Rejected).status(), 28);
    assert_eq!(passive.accept(None).expect_err("it is rejected").errno, libc::EINVAL);
}

#[test]
fn options_of_a_vendor_reach_the_peer() {
    let mut sides = Sides::new(PortSpace::Tcp);
    let none = sides.active.set_local_ece(Ece::default());
    assert_eq!(none.expect_err("no vendor").errno, libc::EINVAL);
    let offered = Ece { vendor_id: 0x1234, options: 0x56 };
    sides.active.set_local_ece(offered).expect("kept");
    let passive = sides.request(&ConnectParameters::default());
    assert_eq!(passive.remote_ece(), offered);
    passive.reject(&[], true).expect("a request waits");
    assert_eq!(expect(&sides.here, EventKind::Rejected).status(), 35);
}

#[test]
fn many_connections_are_set_up_at_once() {
    const MANY: usize = 64;
    let (there, listener) = identifier(PortSpace::Tcp);
    listener.bind(at(0)).expect("free");
    listener.listen(0).expect("bound");
    let address = listener.local_address().expect("bound");
    let here = EventChannel::new().expect("a channel");
    let new = |_| Identifier::new(&here, 7, PortSpace::Tcp, QueuePairType::Rc);
    let ids: Vec<Arc<Identifier>> = (0..MANY).map(new).collect();
    for id in &ids {
        resolve(&here, id, address);
        id.connect(&ConnectParameters::default()).expect("it begins");
    }
    let mut passive = Vec::new();
    for _ in 0..MANY {
        let event = expect(&there, EventKind::ConnectRequest);
        event.identifier().accept(None).expect("a request waits");
        passive.push(Arc::clone(event.identifier()));
    }
    for _ in 0..MANY {
        let event = expect(&here, EventKind::ConnectResponse);
        event.identifier().establish().expect("an answer waits");
    }
    for _ in 0..MANY {
        expect(&there, EventKind::Established);
    }
}
