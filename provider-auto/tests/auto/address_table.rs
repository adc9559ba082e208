//! One reading of addresses for all providers (docs/addresses.md): whether an adapter is reached at an address by an
//! adapter of the same name, on a machine with several interfaces. Where it is, a common service point may listen.

use std::net::{SocketAddr, SocketAddrV6};

use dat_conformance::{Node, drain, expect_event, refused, state, until};
use dat_core::error::Subtype;
use dat_core::{
    Comm, ConnectionEvent, ConnectionEventKind, EpProvision, EpState, Event, RefusalCause, Timeout,
};

use crate::common::{on, open};
use crate::machine;

/// The outcome of an attempt to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The service point got the request.
    Reached,
    /// Nothing listens at the address.
    Refused,
    /// No way leads to the address.
    NoWay,
    /// Not tried, because the kernel gives no answer for seconds: it does not deliver a refusal to `::1`, and asks the
    /// link for a neighbour that has the address.
    Unanswered,
}

use Outcome::{NoWay, Reached, Refused, Unanswered};

/// What public service points listen on; common ones use the ports after it.
const PORT: u16 = 20_000;

const ADAPTERS: [&str; 6] = ["loopback", "shm", "tcp-lo", "tcp-wire0", "auto", "auto?wire0"];

/// A scope that the consumer gives means nothing: `%3` is not the number of an interface that has the address.
const TABLE: [(&str, [Outcome; 6]); 15] = [
    ("127.0.0.1", [Reached, Reached, Reached, Refused, Reached, Refused]),
    ("::1", [Reached, Reached, Reached, Refused, Reached, Refused]),
    ("::ffff:127.0.0.1", [Reached, Reached, Reached, Refused, Reached, Refused]),
    ("0.0.0.0", [Reached; 6]),
    ("::", [Reached; 6]),
    ("::ffff:0.0.0.0", [Reached; 6]),
    // Of wire0, once without and once with a scope.
    ("fe80::77", [Reached, Reached, NoWay, Reached, Reached, Reached]),
    ("fe80::77%1", [Reached, Reached, NoWay, Reached, Reached, Reached]),
    // Of an interface with nothing else, which no adapter has but those of the whole machine.
    ("fe80::88", [Reached, Reached, NoWay, Unanswered, Reached, Unanswered]),
    // Of wire0, and of another interface.
    ("192.0.2.1", [Reached, Reached, Refused, Reached, Reached, Reached]),
    ("2001:db8::1", [Reached, Reached, Unanswered, Reached, Reached, Reached]),
    ("198.51.100.1", [Reached, Reached, Refused, Refused, Reached, Refused]),
    ("2001:db8:1::1", [Reached, Reached, Unanswered, Refused, Reached, Refused]),
    // No interface has these.
    ("203.0.113.9", [NoWay; 6]),
    ("2001:db8:2::9", [NoWay; 6]),
];

#[test]
fn addresses_mean_the_same_over_all_providers() {
    machine::run("address_table::table");
}

fn socket_address(text: &str, port: u16) -> SocketAddr {
    match text.split_once('%') {
        Some((address, scope)) => {
            let (address, scope) = (address.parse(), scope.parse());
            SocketAddrV6::new(address.expect("IPv6"), port, 0, scope.expect("a number")).into()
        }
        None => SocketAddr::new(text.parse().expect("an address"), port),
    }
}

fn is_unspecified(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_unspecified()
}

/// The event with which an attempt to connect ends, at a service point that rejects it.
fn attempt(from: &Node, to: &Node, address: SocketAddr) -> ConnectionEvent {
    let ep = from.ep();
    ep.common_connect(address, Timeout::Infinite, b"").expect("an attempt");
    until("the attempt ends", || {
        for event in drain(&to.requests) {
            let Event::ConnectionRequest(arrival) = event else { panic!("{event:?}") };
            arrival.request.reject(b"").expect("live");
        }
        state(&ep) == EpState::Disconnected
    });
    let Event::Connection(event) = expect_event(&from.connect, &[&ep]) else { panic!("an event") };
    ep.free().expect("disconnected");
    event
}

fn outcome(from: &Node, to: &Node, address: SocketAddr) -> Outcome {
    match attempt(from, to, address).kind {
        ConnectionEventKind::PeerRejected => Reached,
        ConnectionEventKind::NonPeerRejected => Refused,
        ConnectionEventKind::Unreachable => NoWay,
        other => panic!("{other:?} at {address}"),
    }
}

/// Checks where an adapter is reached.
fn check_connects(server: &Node, client: &Node, name: &str, column: usize) {
    let psp = server.ia.psp_create(PORT.into(), &server.requests, EpProvision::Consumer);
    let psp = psp.expect("nothing listens in the namespace");
    let tried = TABLE.into_iter().filter(|(_, outcomes)| outcomes[column] != Unanswered);
    let wanted: Vec<_> = tried.map(|(text, outcomes)| (text, outcomes[column])).collect();
    let outcome = |text| outcome(client, server, socket_address(text, PORT));
    let found: Vec<_> = wanted.iter().map(|(text, _)| (*text, outcome(text))).collect();
    assert_eq!(found, wanted, "{name}");
    psp.free().expect("live");
}

/// Checks where common service points listen: where the adapter is reached, and there only.
fn check_listeners(server: &Node, client: &Node, name: &str, column: usize) {
    for (number, (text, outcomes)) in (1..).zip(TABLE) {
        let at = socket_address(text, PORT + number);
        let comm = if at.is_ipv4() { Comm::INET } else { Comm::INET6 };
        let made = server.ia.csp_create(comm, at, &server.requests);
        if outcomes[column] != Reached {
            let error = refused(made, Subtype::InvalidAddressUnreachable);
            let own = server.ia.attributes().address.to_string();
            assert!(error.to_string().contains(&own), "{name} at {text}: {error}");
            continue;
        }
        let csp = made.unwrap_or_else(|error| panic!("{name} at {text}: {error}"));
        assert_eq!(csp.query().expect("live").address, at);
        // Adapters of one machine have one address; others have several, and that of the call is one of them.
        let is_everywhere = is_unspecified(at) || matches!(name, "loopback" | "shm");
        for (other, outcomes) in TABLE {
            if outcomes[column] == Unanswered {
                continue;
            }
            let to = socket_address(other, at.port());
            let is_it = is_everywhere || to.ip().to_canonical() == at.ip().to_canonical();
            let found = outcome(client, server, to) == Reached;
            let wanted = is_it && outcomes[column] == Reached;
            assert!(found == wanted || is_unspecified(to), "{name} at {text}, to {other}: {found}");
        }
        csp.free().expect("live");
    }
}

/// An address of a family that the adapter does not have.
fn check_families() {
    for (name, other) in [
        ("auto?address=192.0.2.1", "2001:db8::1"),
        ("auto?address=2001:db8::1", "192.0.2.1"),
        ("tcp-wire0?address=192.0.2.1", "2001:db8::1"),
    ] {
        let node = on(name);
        let event = attempt(&node, &node, socket_address(other, 9));
        let found = (event.kind, event.cause);
        let wanted = (ConnectionEventKind::Unreachable, RefusalCause::OtherFamily);
        assert_eq!(found, wanted, "{name} to {other}");
    }
    // Of the same family: another reason.
    let node = on("tcp-lo");
    let event = attempt(&node, &node, socket_address("203.0.113.9", 9));
    assert_eq!(event.cause, RefusalCause::Unknown);
}

/// Adapters that cannot be opened, and what the reason names.
fn check_opens() {
    for (name, reason) in [
        ("auto?local", "has only link-local addresses"),
        ("auto?local address=fe80::88", "link-local addresses are not used"),
        ("auto?local address=fe80::88%local", "link-local addresses are not used"),
        ("tcp-wire0?address=fe80::77%wire0", "link-local addresses are not used"),
        ("tcp-wire0?address=::ffff:0.0.0.0", "peers cannot connect to it"),
    ] {
        let error = open(name).expect_err(name).to_string();
        assert!(error.contains(reason), "{name}: {error}");
    }
    for (name, address) in [
        ("auto?local address=169.254.0.88", "169.254.0.88"),
        ("tcp-lo?address=::ffff:127.0.0.2", "127.0.0.2"),
        ("shm?address=::ffff:127.0.0.2", "127.0.0.2"),
        ("loopback?address=::ffff:127.0.0.2", "127.0.0.2"),
    ] {
        assert_eq!(on(name).ia.attributes().address.to_string(), address, "{name}");
    }
}

#[test]
#[ignore = "started by the test, in a namespace"]
fn table() {
    if !machine::set_up() {
        return;
    }
    for (column, name) in ADAPTERS.into_iter().enumerate() {
        let (server, client) = (on(name), on(name));
        check_connects(&server, &client, name, column);
        check_listeners(&server, &client, name, column);
    }
    check_families();
    check_opens();
}
