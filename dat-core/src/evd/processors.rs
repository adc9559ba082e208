//! How many processors can run a waiter and its peer at the same time.

use std::sync::OnceLock;
use std::thread;

use nix::sys::signal::SigSet;
use rustix::thread::{CpuSet, sched_setaffinity};

static COUNT: OnceLock<usize> = OnceLock::new();

/// Whether a peer can run while a waiter spins. The first call is slow, see [`count`].
pub(super) fn several() -> bool {
    *COUNT.get_or_init(count) > 1
}

/// Number of processors that the machine and the control group give to this process (sched(7),
/// cgroups(7)). The caller's own affinity is left out: the peer of a thread that is bound to one
/// processor runs on another one.
///
/// Only a thread that may use every processor gets this answer, so that one is started for it.
fn count() -> usize {
    let scratch = thread::Builder::new().name("dat-processors".into()).spawn(|| {
        // The signals of the process are for the threads of the program.
        let _ = SigSet::all().thread_block();
        let mut all = CpuSet::new();
        (0..CpuSet::MAX_CPU).for_each(|processor| all.set(processor));
        // The kernel removes what the control group forbids. If a filter of system calls refuses,
        // the affinity of the caller counts.
        let _ = sched_setaffinity(None, &all);
        available()
    });
    scratch.ok().and_then(|scratch| scratch.join().ok()).unwrap_or_else(available)
}

fn available() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
