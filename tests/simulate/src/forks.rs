//! Children of a fork, which use what their parent has created.
#![allow(unsafe_code, reason = "fork")]

use std::time::Duration;

use dat_core::{
    Close, CompletionFlags, Connect, EpProvision, Evd, EvdFlags, EvdOptions, Event, MemorySource,
    Privileges, Timeout,
};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, alarm, fork};

use crate::process::Process;
use crate::world::{End, Outcome, World};

const NONE: CompletionFlags = CompletionFlags::empty();

impl World {
    /// The simulation forks: the child calls everything on behalf of all processes, and drops what they have. Each call
    /// must be refused. The parent goes on.
    ///
    /// # Errors
    /// What the child could do.
    pub(crate) fn fork(&mut self) -> Outcome {
        self.trace.line(|| "the simulation forks".to_owned());
        // SAFETY: the process has one thread.
        match unsafe { fork() }.map_err(|errno| format!("fork: {errno}"))? {
            ForkResult::Child => {
                // Ends a child that waits for what its parent has locked.
                alarm::set(10);
                let allowed = self.try_all();
                if let Some(allowed) = allowed {
                    eprintln!("a child of a fork may {allowed}");
                }
                self.connections.clear();
                self.processes.clear();
                // SAFETY: `_exit` ends the process without running any destructor.
                unsafe { nix::libc::_exit(i32::from(allowed.is_some())) }
            }
            ForkResult::Parent { child } => match waitpid(child, None) {
                Ok(WaitStatus::Exited(_, 0)) => Ok(()),
                ended => Err(format!("a child of a fork uses an object of its parent: {ended:?}")),
            },
        }
    }

    /// Makes all calls. Returns one that was not refused.
    fn try_all(&self) -> Option<&'static str> {
        let processes = self.processes.iter().find_map(call_adapter);
        let mut ends = self.connections.iter().flat_map(|one| one.ends.iter().flatten());
        processes.or_else(|| ends.find_map(call_endpoint))
    }
}

fn call_adapter(process: &Process) -> Option<&'static str> {
    let Process { node, shared, .. } = process;
    let mut event = Event::default();
    // It finds nothing in the thread that dequeued before; the completions that were there at the fork are in the child too.
    let is_refused = |queue: &Evd| queue.dequeue(&mut Event::default()) != Ok(true);
    let now = Timeout::After(Duration::ZERO);
    let buffer = crate::memory::block(64);
    let calls = [
        ("create an endpoint", node.ia.ep_create(&node.spec()).is_ok()),
        ("create a zone", node.ia.pz_create().is_ok()),
        ("create a dispatcher", node.ia.evd_create(&EvdOptions::new(8, EvdFlags::DTO)).is_ok()),
        ("listen", node.ia.psp_create_any(&node.requests, EpProvision::Consumer).is_ok()),
        (
            "register memory",
            node.ia.lmr_create(MemorySource::Memory(&buffer), &node.pz, Privileges::ALL).is_ok(),
        ),
        ("dequeue an event", ![&node.connect, &node.requests].into_iter().all(is_refused)),
        ("wait", node.connect.wait(now, 1, &mut event).is_ok()),
        ("arm a dispatcher", node.connect.arm().is_ok()),
        (
            "post a shared receive",
            shared.as_ref().is_some_and(|shared| {
                shared.queue.post_recv(&[shared.buffer.piece(0, 8)], 1).is_ok()
            }),
        ),
    ];
    calls.into_iter().find_map(|(what, is_allowed)| is_allowed.then_some(what))
}

fn call_endpoint(end: &End) -> Option<&'static str> {
    let End { ep, buffer, .. } = end;
    let piece = buffer.piece(0, 8);
    let remote = buffer.remote(8, 8);
    let peer = std::net::IpAddr::from([10, 0, 0, 1]);
    let calls = [
        ("post a message", ep.post_send(&[piece], 1, NONE).is_ok()),
        ("post a receive", ep.post_recv(&[piece], 1, NONE).is_ok()),
        ("post a write", ep.post_rdma_write(&[piece], 1, remote, NONE).is_ok()),
        ("post a read", ep.post_rdma_read(&[piece], 1, remote, NONE).is_ok()),
        ("connect", ep.connect(&Connect::to(peer, 1)).is_ok()),
        ("disconnect", ep.disconnect(Close::Abrupt).is_ok()),
        ("deregister memory", buffer.lmr.free().is_ok()),
        ("free an endpoint", ep.free().is_ok()),
    ];
    calls.into_iter().find_map(|(what, is_allowed)| is_allowed.then_some(what))
}
