//! At which addresses adapters listen: a machine with several interfaces, in a network namespace. Without the right to
//! make one the test says that it did not run.

use std::io::Write;
use std::net::IpAddr;
use std::process::Command;

use dat_conformance::{Node, drain, expect_event, state, until};
use dat_core::{Connect, ConnectionEventKind, EpState, Event, Psp, PspMaker};
use dat_two_processes::process;

use crate::common::on;

/// Printed when the namespace has its interfaces: from here on, a failure is one of the providers.
const READY: &str = "the interfaces are up";

const LO: [&str; 4] = ["127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1"];
const WIRE0: [&str; 4] = ["192.0.2.1", "192.0.2.2", "2001:db8::1", "::ffff:192.0.2.1"];
const WIRE1: [&str; 2] = ["198.51.100.1", "2001:db8:1::1"];

/// Sets the interfaces up. Addresses of IPv6 need no verification, which takes seconds.
fn set_up() -> Result<(), String> {
    const COMMANDS: [&str; 11] = [
        "link set lo up",
        "address add 127.0.0.2/8 dev lo",
        "link add name wire0 type veth peer name peer0",
        "link add name wire1 type veth peer name peer1",
        "address add 192.0.2.1/24 dev wire0",
        "address add 192.0.2.2/24 dev wire0",
        "address add 2001:db8::1/64 dev wire0 nodad",
        "address add 198.51.100.1/24 dev wire1",
        "address add 2001:db8:1::1/64 dev wire1 nodad",
        "link set wire0 up",
        "link set wire1 up",
    ];
    for arguments in COMMANDS {
        let ran = Command::new("ip").args(arguments.split(' ')).output();
        let ran = ran.map_err(|error| format!("ip: {error}"))?;
        if !ran.status.success() {
            return Err(format!("ip {arguments}: {}", String::from_utf8_lossy(&ran.stderr)));
        }
    }
    Ok(())
}

#[test]
fn adapters_listen_at_all_their_addresses_and_no_other() {
    let test = process::command("addresses::machine");
    let ran = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "--"])
        .arg(test.get_program())
        .args(test.get_args())
        .output();
    // Directly, so that the test runner does not capture it.
    let not_run = |why: &str| {
        let _ = writeln!(std::io::stderr(), "NOT RUN: a machine with several interfaces: {why}");
    };
    match ran {
        Err(error) => not_run(&format!("unshare: {error}")),
        Ok(ran) => {
            let (out, err) =
                (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
            if out.contains(READY) {
                assert!(ran.status.success(), "{out}{err}");
            } else {
                not_run(&format!("{out}{err}"));
            }
        }
    }
}

/// Whether an attempt to connect reaches a service point, which rejects it.
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
    let psp = server.ia.psp_create_any(&server.requests, PspMaker::Consumer).expect("a port");
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

/// The machine.
#[test]
#[ignore = "started by the test, in a namespace"]
fn machine() {
    if let Err(why) = set_up() {
        println!("\n{why}");
        return;
    }
    println!("\n{READY}");
    let all = [&LO[..], &WIRE0, &WIRE1].concat();
    check("auto", &all, &[]);
    check("tcp-lo", &LO, &[&WIRE0[..], &WIRE1].concat());
    check("tcp-wire0", &WIRE0, &[&LO[..], &WIRE1].concat());
    check("auto?wire1", &WIRE1, &[&LO[..], &WIRE0].concat());
    check("auto?address=192.0.2.2", &["192.0.2.2"], &["192.0.2.1", "127.0.0.1", "2001:db8::1"]);
    check("tcp-wire0?address=2001:db8::1", &["2001:db8::1"], &["192.0.2.1", "::1"]);
}
