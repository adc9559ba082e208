//! Connects to a process that listens and does not run, and whose backlog is full: they wait as long as the
//! consumer permits.

use std::process::Child;
use std::time::Duration;

use dat_conformance::{Node, drain, expect_connection, state, until};
use dat_core::{Connect, ConnectionEventKind, Ep, EpProvision, EpState, Event};
use rustix::time::{ClockId, clock_gettime};

use crate::process;

/// The longest backlog, as the network of the tests limits it.
pub const LIMIT: &str = "echo 8 >/proc/sys/net/core/somaxconn";
/// More than the backlog holds.
const MANY: usize = 24;

/// The other process: accepts each request.
///
/// # Panics
/// If a call on a live object fails.
pub fn peer(open: fn(&str) -> Node) {
    let node = open("");
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a port");
    process::announce(psp.qualifier());
    let mut accepted = Vec::new();
    loop {
        for event in drain(&node.requests) {
            let Event::ConnectionRequest(arrival) = event else { panic!("{event:?}") };
            let ep = node.ep();
            // The attempt may have timed out on the other side.
            let _ = arrival.request.accept(Some(&ep), b"");
            accepted.push(ep);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The peer, stopped, and the attempts that fill its backlog.
struct Full {
    child: Child,
    port: u64,
    attempts: Vec<Ep>,
}

impl Full {
    fn new(node: &Node) -> Self {
        let (child, port) = process::start("backlog::peer");
        process::stop(&child);
        let attempts = (0..MANY).map(|_| {
            let ep = node.ep();
            ep.connect(&Connect::to(node.address(), port)).expect("an attempt");
            ep
        });
        let attempts = attempts.collect();
        Self { child, port, attempts }
    }

    fn are_all(&self, wanted: EpState) -> bool {
        self.attempts.iter().all(|ep| state(ep) == wanted)
    }

    fn end(mut self) {
        self.child.kill().expect("a child");
        self.child.wait().expect("a child");
    }
}

/// All attempts are established once the process runs again.
///
/// # Panics
/// If one ends before.
pub fn attempts_wait_until_there_is_room(open: fn(&str) -> Node) {
    let node = open("");
    let full = Full::new(&node);
    assert!(full.are_all(EpState::ActiveConnectionPending), "they wait");
    process::go_on(&full.child);
    until("all are established", || full.are_all(EpState::Connected));
    assert_eq!(drain(&node.connect).len(), MANY);
    full.end();
}

/// The time-out of the consumer ends an attempt, and nothing else does.
///
/// # Panics
/// If an attempt ends in another way.
pub fn the_time_out_of_the_consumer_holds(open: fn(&str) -> Node) {
    let node = open("");
    let full = Full::new(&node);
    let ep = node.ep();
    let connect = Connect::to(node.address(), full.port).timeout(Duration::from_millis(200));
    ep.connect(&connect).expect("an attempt");
    expect_connection(&node.connect, &ep, ConnectionEventKind::TimedOut);
    ep.free().expect("disconnected");
    let before = clock_gettime(ClockId::ProcessCPUTime);
    std::thread::sleep(Duration::from_secs(1));
    let used = clock_gettime(ClockId::ProcessCPUTime) - before;
    assert!(used.tv_sec == 0 && used.tv_nsec < 300_000_000, "it spins: {used:?}");
    assert!(full.are_all(EpState::ActiveConnectionPending), "the others wait");
    for ep in &full.attempts {
        ep.free().expect("connecting");
    }
    full.end();
    node.finish();
}
