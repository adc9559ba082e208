//! Peers that do not run, and peers whose machine does not answer: only the latter are lost.

use std::net::Ipv4Addr;
use std::process::{Child, Command};
use std::time::Duration;

use dat_conformance::{Buffer, Node, drain, expect_connection, expect_request, state, until};
use dat_core::{
    Address, Connect, ConnectionEventKind, DtoStatus, Ep, EpProvision, EpState, RmrTriplet,
    WaitCause,
};

use crate::completions::{NONE, each_once};
use crate::network::Machine;
use crate::process;
use crate::traffic::{self, LONGEST, Load};

/// Seconds after which a peer that does not answer is lost.
pub const TIMEOUT: &str = "timeout=1";
/// Number of writes of [`LONGEST`] bytes, which small socket buffers do not hold.
const WRITES: u64 = 8;

/// The other process: accepts a request, and executes what its peer writes, until the connection ends.
///
/// # Panics
/// If a call on a live endpoint fails.
pub fn peer(open: fn(&str) -> Node) {
    let node = open("");
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a port");
    let buffer = traffic::buffer(&node);
    let own = Load::number(0).private_data(buffer.remote(0, LONGEST));
    process::announce(psp.qualifier());
    let ep = node.ep();
    expect_request(&node.requests).request.accept(Some(&ep), &own).expect("unconnected");
    expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
    while state(&ep) == EpState::Connected {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A connection to a peer.
struct Connected {
    ep: Ep,
    buffer: Buffer,
    theirs: RmrTriplet,
    child: Child,
}

impl Connected {
    fn new(node: &Node, command: &mut Command, address: Address) -> Self {
        let (child, port) = process::started(command);
        let ep = node.ep();
        ep.connect(&Connect::to(address, port.expect("it listens"))).expect("an attempt");
        let event = expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
        let (_, theirs) = Load::parse(&event.private_data);
        Self { ep, buffer: traffic::buffer(node), theirs, child }
    }

    /// Posts writes; returns their cookies.
    fn write(&self, number: u64, length: usize) -> Vec<u64> {
        let remote = RmrTriplet { length: length as u64, ..self.theirs };
        let local = [self.buffer.piece(LONGEST, length)];
        for cookie in 0..number {
            self.ep.post_rdma_write(&local, cookie, remote, NONE).expect("connected");
        }
        (0..number).collect()
    }

    fn end(mut self, node: &Node) {
        self.child.kill().expect("a child");
        self.child.wait().expect("a child");
        until("it is disconnected", || state(&self.ep) == EpState::Disconnected);
        self.ep.free().expect("disconnected");
        self.buffer.lmr.free().expect("unused");
        drain(&node.connect);
        drain(&node.request);
    }
}

/// Buffers of sockets that hold less than the writes, and a wire to another machine may be added.
pub const SMALL_BUFFERS: &str = "echo 4096 65536 65536 >/proc/sys/net/ipv4/tcp_rmem
    echo 4096 65536 65536 >/proc/sys/net/ipv4/tcp_wmem";

/// A peer that is stopped for several times the time-out, while more is in flight than the transport holds. `causes` are
/// what the operations may wait for.
///
/// # Panics
/// If the connection ends, an operation is lost, or another cause is said.
pub fn a_stopped_peer_is_slow(node: &Node, causes: &[WaitCause]) {
    let connected = Connected::new(node, &mut process::command("silence::peer"), node.address());
    process::stop(&connected.child);
    let cookies = connected.write(WRITES, LONGEST);
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(state(&connected.ep), EpState::Connected);
    until("the cause is said", || {
        let stall = connected.ep.stall().expect("a live endpoint");
        stall.is_some_and(|stall| causes.contains(&stall.cause))
    });
    process::go_on(&connected.child);
    let done = each_once(&[&node.request], &cookies);
    assert!(done.values().all(|status| *status == DtoStatus::Success), "{done:?}");
    connected.end(node);
}

/// A machine that does not answer any more is lost: with an idle connection, with an operation in flight, and
/// with more in flight than its stopped process can take. `open` opens the adapters of both machines.
///
/// # Panics
/// If a connection does not break.
pub fn a_machine_that_does_not_answer_is_lost(open: fn(&str) -> Node) {
    let machine = Machine::new();
    let node = open(TIMEOUT);
    let far: Ipv4Addr = Machine::FAR.parse().expect("an address");
    let new = || {
        let mut command = machine.command("silence::peer");
        Connected::new(&node, &mut command, far.into())
    };
    let lose = |connected: Connected, cookies: &[u64]| {
        expect_connection(&node.connect, &connected.ep, ConnectionEventKind::Broken);
        each_once(&[&node.request], cookies);
        machine.restore();
        connected.end(&node);
    };
    let idle = new();
    machine.silence();
    lose(idle, &[]);
    let busy = new();
    machine.silence();
    let cookies = busy.write(1, 64);
    lose(busy, &cookies);
    let stopped = new();
    // `nsenter` executes the program in its own process.
    process::stop(&stopped.child);
    let cookies = stopped.write(WRITES, LONGEST);
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(state(&stopped.ep), EpState::Connected, "it is slow");
    machine.silence();
    lose(stopped, &cookies);
}
