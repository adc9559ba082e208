//! Addresses: binding and resolution.

use std::net::{Ipv4Addr, SocketAddr};

use dat_soft_verbs::cm::{ConnectParameters, EventKind, PortSpace};

use crate::sides::*;

#[test]
fn an_address_and_a_route_are_resolved_by_events() {
    let (channel, id) = identifier(PortSpace::Tcp);
    id.resolve_address(None, at(9)).expect("it begins");
    let event = expect(&channel, EventKind::AddressResolved);
    assert_eq!((event.status(), event.identifier().user()), (0, 7));
    drop(event);
    assert_eq!(id.local_address().expect("bound").ip(), Ipv4Addr::LOCALHOST);
    assert_ne!(id.local_address().expect("bound").port(), 0);
    assert_eq!(id.peer_address(), Some(at(9)));
    id.resolve_route().expect("it begins");
    expect(&channel, EventKind::RouteResolved);
}

#[test]
fn calls_in_another_state_are_refused() {
    let (_channel, id) = identifier(PortSpace::Tcp);
    let none = ConnectParameters::default();
    assert_eq!(id.connect(&none).expect_err("unbound").errno, libc::EINVAL);
    assert_eq!(id.accept(None).expect_err("no request").errno, libc::EINVAL);
    assert_eq!(id.reject(&[], false).expect_err("no request").errno, libc::EINVAL);
    assert_eq!(id.establish().expect_err("no answer").errno, libc::EINVAL);
    assert_eq!(id.disconnect().expect_err("not connected").errno, libc::EINVAL);
    assert_eq!(id.resolve_route().expect_err("no address").errno, libc::EINVAL);
    id.bind(at(0)).expect("free");
    assert_eq!(id.bind(at(0)).expect_err("bound").errno, libc::EINVAL);
    id.set_reuse_address(true).expect("as the kernel allows it");
    assert_eq!(id.set_reuse_address(false).expect_err("bound").errno, libc::EINVAL);
}

#[test]
fn a_port_has_one_identifier() {
    let (_channel, first) = identifier(PortSpace::Tcp);
    first.bind(at(0)).expect("free");
    let taken = first.local_address().expect("bound");
    let (_other, second) = identifier(PortSpace::Tcp);
    assert_eq!(second.bind(taken).expect_err("taken").errno, libc::EADDRINUSE);
    drop(first);
    second.bind(taken).expect("free again");
}

#[test]
fn a_port_has_an_identifier_of_each_port_space() {
    let (_channel, first) = identifier(PortSpace::Tcp);
    first.bind(at(0)).expect("free");
    first.listen(1).expect("bound");
    let taken = first.local_address().expect("bound");
    let (_other, second) = identifier(PortSpace::Udp);
    second.bind(taken).expect("a port space of its own");
    second.listen(1).expect("bound");
    let (_third, again) = identifier(PortSpace::Udp);
    assert_eq!(again.bind(taken).expect_err("taken").errno, libc::EADDRINUSE);
    drop(first);
    let (_fourth, another) = identifier(PortSpace::Tcp);
    another.bind(taken).expect("free again");
    drop((second, another));
    again.bind(taken).expect("free again");
}

#[test]
fn identifiers_that_share_a_port_may_not_both_listen() {
    let shared = || {
        let (channel, id) = identifier(PortSpace::Tcp);
        id.set_reuse_address(true).expect("not bound");
        (channel, id)
    };
    let (_one, first) = shared();
    first.bind(at(0)).expect("free");
    let (_two, second) = shared();
    second.bind(first.local_address().expect("bound")).expect("shared");
    first.listen(1).expect("the first");
    assert_eq!(second.listen(1).expect_err("the second").errno, libc::EADDRINUSE);
}

#[test]
fn identifiers_that_share_a_port_connect_to_the_same_peer() {
    let (there, listener) = identifier(PortSpace::Tcp);
    listener.bind(at(0)).expect("free");
    listener.listen(4).expect("bound");
    let to = listener.local_address().expect("bound");
    let (first_channel, first) = identifier(PortSpace::Tcp);
    let (second_channel, second) = identifier(PortSpace::Tcp);
    first.set_reuse_address(true).expect("not bound");
    first.bind(at(0)).expect("free");
    second.set_reuse_address(true).expect("not bound");
    second.bind(first.local_address().expect("bound")).expect("shared");
    let mut requests = Vec::new();
    for (channel, id) in [(&first_channel, &first), (&second_channel, &second)] {
        resolve(channel, id, to);
        id.connect(&ConnectParameters::default()).expect("it begins");
        let request = expect(&there, EventKind::ConnectRequest);
        request.identifier().accept(None).expect("a request waits");
        requests.push(request);
        expect(channel, EventKind::ConnectResponse);
    }
}

#[test]
fn the_port_of_a_connected_identifier_is_taken() {
    let (sides, _passive) = connected();
    let taken = sides.active.local_address().expect("bound");
    let (_channel, other) = identifier(PortSpace::Tcp);
    assert_eq!(other.bind(taken).expect_err("taken").errno, libc::EADDRINUSE);
    sides.active.disconnect().expect("connected");
    drop(sides);
    other.bind(taken).expect("free again");
}

#[test]
fn a_foreign_address_or_family_is_refused() {
    let (_channel, id) = identifier(PortSpace::Tcp);
    let foreign = SocketAddr::from(([192, 0, 2, 1], 0));
    assert_eq!(id.bind(foreign).expect_err("foreign").errno, libc::EADDRNOTAVAIL);
    id.bind(at(0)).expect("an own address");
    let other = "[::1]:9".parse().expect("an address");
    assert_eq!(id.resolve_address(None, other).expect_err("IPv6").errno, libc::EINVAL);
    let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let (_channel, id) = identifier(PortSpace::Tcp);
    id.bind(everywhere).expect("a free port");
    assert_eq!(id.resolve_address(None, other).expect_err("IPv6").errno, libc::EINVAL);
    id.resolve_address(None, at(9)).expect("IPv4");
}
