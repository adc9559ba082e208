//! Services of datagrams, and multicast groups.

use std::net::SocketAddr;
use std::time::Duration;

use dat_soft_verbs::cm::{ConnectParameters, EventKind, Parameters, PortSpace};

use crate::sides::*;

#[test]
fn a_service_of_datagrams_is_found() {
    let mut sides = Sides::new(PortSpace::Udp);
    let wanted = ConnectParameters { private_data: b"name", number: 5, ..Default::default() };
    let passive = sides.request(&wanted);
    let Parameters::Datagram(seen) = &sides.requested else { panic!("a connection") };
    assert_eq!((&seen.private_data[..], seen.number), (&b"name"[..], 5));
    let answer = ConnectParameters { private_data: b"me", number: 6, ..Default::default() };
    passive.accept(Some(&answer)).expect("a request waits");
    let event = expect(&sides.here, EventKind::Established);
    let Parameters::Datagram(found) = event.parameters() else { panic!("a connection") };
    assert_eq!((&found.private_data[..], found.number, found.key), (&b"me"[..], 6, 0x0123_4567));
    assert_eq!(found.gid[10..], [0xff, 0xff, 127, 0, 0, 1]);
    std::thread::sleep(Duration::from_millis(50));
    assert!(!is_readable(&sides.there), "the passive side gets no event");
}

#[test]
fn a_service_of_datagrams_that_leaves_at_once_has_no_connection_that_ends() {
    let services = [0; 8].map(|_| {
        let mut sides = Sides::new(PortSpace::Udp);
        let passive = sides.request(&ConnectParameters::default());
        passive.accept(None).expect("a request waits");
        passive.disconnect().expect("it was accepted");
        expect(&sides.here, EventKind::Established);
        (sides, passive)
    });
    std::thread::sleep(Duration::from_millis(50));
    let has_event = services.iter().any(|(sides, _)| is_readable(&sides.there));
    assert!(!has_event, "the passive side gets no event");
}

#[test]
fn a_service_of_datagrams_that_is_refused_is_unreachable() {
    let mut sides = Sides::new(PortSpace::Udp);
    sides.request(&ConnectParameters::default()).reject(&[], false).expect("a request waits");
    assert_eq!(expect(&sides.here, EventKind::Unreachable).status(), 2);
}

#[test]
fn a_group_is_joined_once() {
    let (channel, id) = identifier(PortSpace::Udp);
    let group = SocketAddr::from(([239, 1, 2, 3], 0));
    assert_eq!(id.join_multicast(group, true, 1).expect_err("unbound").errno, libc::EINVAL);
    id.bind(at(0)).expect("free");
    assert_eq!(id.leave_multicast(group).expect_err("no member").errno, libc::EADDRNOTAVAIL);
    id.join_multicast(group, true, 77).expect("it begins");
    let event = expect(&channel, EventKind::MulticastJoin);
    let Parameters::Datagram(found) = event.parameters() else { panic!("a connection") };
    assert_eq!((found.user, found.number), (77, 0xff_ffff));
    assert_eq!(id.join_multicast(group, true, 78).expect_err("twice").errno, libc::EADDRINUSE);
    id.leave_multicast(group).expect("a member");
    assert_eq!(id.join_multicast(at(0), true, 1).expect_err("no group").errno, libc::EINVAL);
}
