//! Two processes with a connection between them, and memory that each may access.

use std::process::Child;

use dat_conformance::{Buffer, Node, expect_connection, expect_dto, expect_request, until};
use dat_core::{Connect, ConnectionEventKind, Ep, EpProvision, RmrTriplet};
use dat_two_processes::traffic::Load;
use dat_two_processes::{NONE, process};
use rustix::process::{Signal, kill_process};

use crate::common::node;

/// The variable with the parameters of the other process.
const PARAMETERS: &str = "DAT_TEST_PARAMETERS";
/// Length of the memory of each side, in bytes.
pub(crate) const LENGTH: usize = 8 << 20;

/// In the other process: the connection to the process that started it.
pub(crate) struct Accepted {
    pub(crate) node: Node,
    pub(crate) buffer: Buffer,
    pub(crate) ep: Ep,
    pub(crate) theirs: RmrTriplet,
}

impl Accepted {
    /// Accepts the connection, on an endpoint that `prepare` has posted receives to, and sends a message.
    pub(crate) fn new(prepare: impl FnOnce(&Ep, &Buffer)) -> Self {
        let node = node(&std::env::var(PARAMETERS).unwrap_or_default());
        let psp =
            node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a qualifier");
        let buffer = node.buffer(LENGTH);
        process::announce(psp.qualifier());
        let ep = node.ep();
        prepare(&ep, &buffer);
        let request = expect_request(&node.requests).request;
        let (load, theirs) = Load::parse(&request.query().expect("live").private_data);
        let own = load.private_data(buffer.remote(0, LENGTH));
        request.accept(Some(&ep), &own).expect("unconnected");
        expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
        ep.post_send(&[buffer.piece(0, 8)], 0, NONE).expect("connected");
        expect_dto(&node.request, &[&ep]);
        Self { node, buffer, ep, theirs }
    }
}

/// A process, the connection to it, and its memory.
pub(crate) struct Connected {
    pub(crate) child: Child,
    pub(crate) ep: Ep,
    pub(crate) theirs: RmrTriplet,
}

impl Connected {
    pub(crate) fn new(node: &Node, own: &Buffer, test: &str, parameters: &str) -> Self {
        let mut command = process::command(test);
        let (child, port) = process::started(command.env(PARAMETERS, parameters));
        let ep = node.ep();
        ep.post_recv(&[own.piece(0, 8)], 0, NONE).expect("live");
        let private_data = Load::number(0).private_data(own.remote(0, own.memory.len()));
        let connect = Connect::to(node.address(), port.expect("it listens"));
        ep.connect(&connect.private_data(&private_data)).expect("an attempt");
        let event = expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
        let (_, theirs) = Load::parse(&event.private_data);
        // Then both sides know that they are connected.
        expect_dto(&node.recv, &[&ep]);
        Self { child, ep, theirs: RmrTriplet { length: LENGTH as u64, ..theirs } }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(process::pid(&self.child), signal).expect("a child");
    }

    /// Stops the process, which polls no more, and waits until none of its threads runs.
    pub(crate) fn stop(&self) {
        // A peer that polls is expected to execute operations: its thread ends that some milliseconds after the last poll.
        std::thread::sleep(std::time::Duration::from_millis(100));
        self.signal(Signal::STOP);
        self.expect_stop();
    }

    /// Waits until no thread of the process runs, because it is stopped.
    pub(crate) fn expect_stop(&self) {
        let tasks = format!("/proc/{}/task", self.child.id());
        let is_stopped = |task: std::io::Result<std::fs::DirEntry>| {
            let stat = std::fs::read_to_string(task.expect("a task").path().join("stat"));
            stat.is_ok_and(|stat| stat.contains(") T "))
        };
        until("it is stopped", || std::fs::read_dir(&tasks).expect("a child").all(is_stopped));
    }

    pub(crate) fn end(mut self) {
        self.child.kill().expect("a child");
        self.child.wait().expect("a child");
    }
}
