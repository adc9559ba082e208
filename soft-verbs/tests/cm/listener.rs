//! Listeners, and what connects to them.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use dat_soft_verbs::cm::{ConnectParameters, EventKind, PortSpace};
use socket2::{Domain, Socket, Type};

use crate::sides::*;

#[test]
fn a_bound_identifier_that_does_not_listen_rejects() {
    let (_there, bound) = identifier(PortSpace::Tcp);
    bound.bind(at(0)).expect("free");
    let (channel, id) = identifier(PortSpace::Tcp);
    resolve(&channel, &id, bound.local_address().expect("bound"));
    id.connect(&ConnectParameters::default()).expect("it begins");
    assert_eq!(expect(&channel, EventKind::Rejected).status(), 8);
}

#[test]
fn a_server_of_another_protocol_is_not_a_listener() {
    let other = TcpListener::bind(at(0)).expect("free");
    let address = other.local_addr().expect("bound");
    let server = std::thread::spawn(move || {
        use std::io::Write;
        let (mut stream, _) = other.accept().expect("a client");
        stream.write_all(b"220 mail.example.com ESMTP\r\n").expect("sent");
        std::thread::sleep(Duration::from_millis(200));
    });
    let (channel, id) = identifier(PortSpace::Tcp);
    resolve(&channel, &id, address);
    id.connect(&ConnectParameters::default()).expect("it begins");
    assert_eq!(expect(&channel, EventKind::Rejected).status(), 8);
    server.join().expect("the server");
}

#[test]
fn a_client_of_another_protocol_is_disconnected_and_the_listener_goes_on() {
    use std::io::{Read, Write};
    let mut sides = Sides::new(PortSpace::Tcp);
    let address = sides.active.peer_address().expect("resolved");
    let mut stream = std::net::TcpStream::connect(address).expect("it listens");
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("sent");
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    let passive = sides.request(&ConnectParameters::default());
    passive.reject(&[], false).expect("a request waits");
    expect(&sides.here, EventKind::Rejected);
}

#[test]
fn requests_beyond_the_backlog_are_rejected() {
    let sides = Sides::with_backlog(PortSpace::Tcp, 1);
    let address = sides.active.peer_address().expect("resolved");
    sides.active.connect(&ConnectParameters::default()).expect("it begins");
    readable(&sides.there);
    let (channel, second) = identifier(PortSpace::Tcp);
    resolve(&channel, &second, address);
    second.connect(&ConnectParameters::default()).expect("it begins");
    assert_eq!(expect(&channel, EventKind::Rejected).status(), 28);
    expect(&sides.there, EventKind::ConnectRequest);
}

#[test]
fn the_end_of_a_listener_rejects_what_waits() {
    let sides = Sides::new(PortSpace::Tcp);
    sides.active.connect(&ConnectParameters::default()).expect("it begins");
    readable(&sides.there);
    sides.listener.destroy().expect("alive");
    assert_eq!(expect(&sides.here, EventKind::Rejected).status(), 28);
}

#[test]
fn a_wildcard_of_ipv6_takes_requests_of_ipv4() {
    let (there, listener) = identifier(PortSpace::Tcp);
    if listener.bind("[::]:0".parse().expect("an address")).is_err() {
        eprintln!("NOT RUN: this machine has no IPv6");
        return;
    }
    listener.listen(4).expect("bound");
    assert!(!listener.is_on_device());
    let port = listener.local_address().expect("bound").port();
    let (here, active) = identifier(PortSpace::Tcp);
    resolve(&here, &active, at(port));
    active.connect(&ConnectParameters::default()).expect("it begins");
    let event = expect(&there, EventKind::ConnectRequest);
    assert_eq!(event.identifier().local_address(), Some(at(port)));
    assert!(event.identifier().is_on_device());
    assert!(event.listener().is_some_and(|found| Arc::ptr_eq(found, &listener)));
}

#[test]
fn port_spaces_are_distinguished() {
    let sides = Sides::new(PortSpace::Udp);
    let (channel, id) = identifier(PortSpace::Tcp);
    resolve(&channel, &id, sides.active.peer_address().expect("resolved"));
    id.connect(&ConnectParameters::default()).expect("it begins");
    assert_eq!(expect(&channel, EventKind::Rejected).status(), 8);
}

#[test]
fn a_listener_that_comes_a_moment_later_is_found() {
    // It keeps the port from other programs, and does not listen.
    let keeper = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    keeper.set_reuse_address(true).expect("a socket");
    keeper.bind(&at(0).into()).expect("free");
    let free = keeper.local_addr().ok().and_then(|bound| bound.as_socket()).expect("bound");
    let (here, active) = identifier(PortSpace::Tcp);
    resolve(&here, &active, free);
    active.connect(&ConnectParameters::default()).expect("it begins");
    std::thread::sleep(Duration::from_millis(30));
    let (there, listener) = identifier(PortSpace::Tcp);
    listener.bind(free).expect("free");
    listener.listen(1).expect("bound");
    let event = expect(&there, EventKind::ConnectRequest);
    assert_eq!(event.identifier().peer_address(), active.local_address());
    event.identifier().reject(&[], false).expect("a request waits");
    assert_eq!(expect(&here, EventKind::Rejected).status(), 28);
}
