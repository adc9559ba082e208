//! At which addresses adapters listen, and which peers reach them there.

use std::net::IpAddr;

use dat_conformance::{Node, drain, expect_event, state, until};
use dat_core::{Connect, ConnectionEventKind, EpProvision, EpState, Event, Psp};

use crate::common::on;
use crate::machine;

const LO: [&str; 4] = ["127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1"];
const WIRE0: [&str; 4] = ["192.0.2.1", "192.0.2.2", "2001:db8::1", "::ffff:192.0.2.1"];
const WIRE1: [&str; 2] = ["198.51.100.1", "2001:db8:1::1"];

#[test]
fn adapters_listen_at_all_their_addresses_and_no_other() {
    machine::run("addresses::listeners");
}

/// Returns true if an attempt to connect reaches a service point, which rejects it.
fn is_reached(from: &Node, to: &Node, psp: &Psp, address: &str) -> bool {
    let ep = from.ep();
    let ip: IpAddr = address.parse().expect("an address");
    ep.connect(&Connect::to(ip, psp.qualifier())).expect("an attempt");
    until("the attempt ends", || {
        for event in drain(&to.requests) {
            let Event::ConnectionRequest(arrival) = event else { panic!("{event:?}") };
            let source = arrival.request.query().expect("live").remote_address;
            let source = source.ip().expect("an IP address");
            assert!(source.is_ipv4() == ip.to_canonical().is_ipv4(), "{source} to {address}");
            arrival.request.reject(b"").expect("live");
        }
        state(&ep) == EpState::Disconnected
    });
    let Event::Connection(event) = expect_event(&from.connect, &[&ep]) else { panic!("an event") };
    ep.free().expect("disconnected");
    event.kind == ConnectionEventKind::PeerRejected
}

/// Checks at which addresses an adapter is reached, by adapters of both providers.
fn check(name: &str, reached: &[&str], others: &[&str]) {
    let server = on(name);
    let psp = server.ia.psp_create_any(&server.requests, EpProvision::Consumer).expect("a port");
    for from in ["auto", "tcp-lo", "tcp-wire0"] {
        let client = on(from);
        for address in reached {
            assert!(is_reached(&client, &server, &psp, address), "{from} to {name} at {address}");
        }
    }
    // From the peer's own address: the kernel answers at once.
    let client = on("auto");
    for address in others {
        assert!(!is_reached(&client, &server, &psp, address), "{name} at {address}");
    }
    psp.free().expect("live");
}

#[test]
#[ignore = "started by the test, in a namespace"]
fn listeners() {
    if !machine::set_up() {
        return;
    }
    let all = [&LO[..], &WIRE0, &WIRE1].concat();
    check("auto", &all, &[]);
    check("tcp-lo", &LO, &[&WIRE0[..], &WIRE1].concat());
    check("tcp-wire0", &WIRE0, &[&LO[..], &WIRE1].concat());
    check("auto?wire1", &WIRE1, &[&LO[..], &WIRE0].concat());
    check("auto?address=192.0.2.2", &["192.0.2.2"], &["192.0.2.1", "127.0.0.1", "2001:db8::1"]);
    check("tcp-wire0?address=2001:db8::1", &["2001:db8::1"], &["192.0.2.1", "::1"]);
}
