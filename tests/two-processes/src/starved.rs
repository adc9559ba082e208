//! File descriptors run out at each step of a connection: the attempt succeeds or fails, and
//! nothing leaks.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use dat_conformance::{Node, drain, exchange, expect_connection, state, until};
use dat_core::error::ReturnType;
use dat_core::{
    Connect, ConnectionEventKind, EpProvision, EpState, Event, Memory, MemorySource, Privileges,
};
use rustix::process::{Resource, Rlimit, getrlimit, prlimit, setrlimit};

use crate::completions::{each_once, posts};
use crate::many::threads;
use crate::process::{self, descriptors};
use crate::traffic::{self, LONGEST, Load};

/// More descriptors than an attempt needs.
const MOST: u64 = 12;

/// Both sides are in one process, which has few descriptors left. Needs a process of its own, since
/// it lowers the limit.
///
/// # Panics
/// If an attempt hangs, or something leaks.
pub fn both_sides(open: fn(&str) -> Node) {
    let node = open("");
    let buffer = node.buffer(128);
    let (client, server) = node.pair();
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a qualifier");
    // With more than two endpoints, dispatchers watch their links by descriptors of their own.
    let third = node.ep();
    third.receive(&[], 0).expect("unconnected");
    let limit = getrlimit(Resource::Nofile);
    let before = descriptors();
    let first_free = File::open("/dev/null").expect("a descriptor").as_raw_fd() as u64;
    let (mut established, mut refused) = (0, 0);
    for more in 0..MOST {
        let (near, far) = (node.ep(), node.ep());
        let cookies = posts(&far, &buffer, 2, 0);
        let soft = Rlimit { current: Some(first_free + more), ..limit };
        setrlimit(Resource::Nofile, soft).expect("lower");
        if let Err(error) = near.connect(&Connect::to(node.address(), psp.qualifier())) {
            assert!(error.is(ReturnType::InsufficientResources), "{error:?}");
            assert!(error.to_string().contains("(ulimit -n)"), "{error}");
            assert_eq!(state(&near), EpState::Unconnected);
            refused += 1;
        }
        until("it ends or is established", || {
            for event in drain(&node.requests) {
                let Event::ConnectionRequest(arrival) = event else { panic!("{event:?}") };
                arrival.request.accept(Some(&far), b"").expect("unconnected");
            }
            state(&near) != EpState::ActiveConnectionPending
        });
        setrlimit(Resource::Nofile, limit).expect("as before");
        established += u64::from(state(&near) == EpState::Connected);
        near.free().expect("live");
        far.free().expect("live");
        each_once(&[&node.recv], &cookies);
        drain(&node.connect);
        exchange(&node, &client, &server);
    }
    assert!((1..MOST).contains(&established), "{established}");
    assert_ne!(refused, 0, "without a descriptor the call fails");
    until("no descriptor is left", || descriptors() <= before);
    third.free().expect("live");
    psp.free().expect("live");
}

/// The passive side is another process, which has few descriptors left.
///
/// # Panics
/// If an attempt hangs, or none is established when there are descriptors again.
pub fn passive_side(open: fn(&str) -> Node) {
    let node = open("");
    let buffer = traffic::buffer(&node);
    let (mut child, port) = process::start("killed::peer");
    let pid = process::pid(&child);
    let folder = PathBuf::from(format!("/proc/{}/fd", child.id()));
    let lowest = |_| {
        thread::sleep(Duration::from_millis(1));
        (0..).find(|number| !folder.join(number.to_string()).exists())
    };
    // The thread of the peer opens a file for a moment now and then, which has that number.
    let first_free = || (0..16).filter_map(lowest).min();
    let limit_to = |current| {
        let limit = Rlimit { current, ..getrlimit(Resource::Nofile) };
        prlimit(Some(pid), Resource::Nofile, limit).expect("a child");
    };
    let attempt = || {
        let ep = node.ep();
        let private_data = Load::number(0).private_data(buffer.remote(0, LONGEST));
        let connect = Connect::to(node.address(), port);
        ep.connect(&connect.private_data(&private_data)).expect("an attempt");
        until("it ends or is established", || state(&ep) != EpState::ActiveConnectionPending);
        ep
    };
    // Keeps a connection, so that the peer does not end.
    let first = attempt();
    expect_connection(&node.connect, &first, ConnectionEventKind::Established);
    let mut kept = Vec::new();
    for more in 0..MOST {
        limit_to(first_free().map(|free: u64| free + more));
        let ep = attempt();
        if state(&ep) == EpState::Connected {
            kept.push(ep);
        } else {
            let event = expect_connection(&node.connect, &ep, ConnectionEventKind::NonPeerRejected);
            assert_eq!(event.ep, ep.id());
            ep.free().expect("disconnected");
        }
    }
    limit_to(getrlimit(Resource::Nofile).maximum);
    assert!((kept.len() as u64) < MOST, "none was refused");
    assert_eq!(state(&attempt()), EpState::Connected, "there are descriptors again");
    assert_eq!(state(&first), EpState::Connected, "it was not disturbed");
    child.kill().expect("a child");
    child.wait().expect("a child");
}

/// The text of an open that fails names the limit of descriptors. Needs a process of its own, since it lowers the
/// limit.
///
/// # Panics
/// If an open fails for another reason, or none fails.
pub fn opening(open: fn(&str) -> Node) {
    // What a process opens once. The thread of the adapter closes its descriptors.
    drop(open(""));
    until("the thread ends", || threads() == 0);
    let first_free = File::open("/dev/null").expect("a descriptor").as_raw_fd() as u64;
    let mut failed = 0;
    for more in (0..MOST).rev() {
        let limit = Some(first_free + more);
        setrlimit(Resource::Nofile, Rlimit { current: limit, maximum: limit }).expect("lower");
        if let Err(panic) = std::panic::catch_unwind(|| drop(open(""))) {
            let text = panic.downcast_ref::<String>().expect("the error");
            assert!(text.contains("ulimit -n"), "{text}");
            failed += 1;
        }
    }
    assert!((1..MOST).contains(&failed), "{failed}");
}

/// The text of a registration that fails for lack of memory says so. Needs a process of its own, since it lowers
/// the limit.
///
/// # Panics
/// If the registration fails for another reason, or does not fail.
pub fn memory(open: fn(&str) -> Node) {
    let node = open("");
    let memory = Memory::zeroed(4096).expect("memory");
    let register = || node.ia.lmr_create(MemorySource::Memory(&memory), &node.pz, Privileges::ALL);
    let limit = getrlimit(Resource::As);
    // What is freed here is there for the text of the error.
    drop(vec![1_u8; 100 << 10]);
    setrlimit(Resource::As, Rlimit { current: Some(0), ..limit }).expect("lower");
    let refused = register();
    setrlimit(Resource::As, limit).expect("as before");
    let error = refused.expect_err("there is no memory for the table");
    assert!(error.is(ReturnType::InsufficientResources), "{error:?}");
    assert!(error.to_string().contains("no memory"), "{error}");
    register().expect("there is memory again").free().expect("unused");
}
