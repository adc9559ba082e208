//! How many processors can run a waiter and its peer at the same time.

use std::thread;

use dat_sync::Lazy;

static COUNT: Lazy<usize> = Lazy::new(count);

/// Returns true if a peer can run while a waiter spins. The first call is slow, see [`count`].
pub(super) fn several() -> bool {
    *COUNT > 1
}

/// Number of processors that the machine and the control group give to this process (sched(7),
/// cgroups(7)). The caller's own affinity is left out: the peer of a thread that is bound to one
/// processor runs on another one.
///
/// Only a thread that may use every processor gets this answer, so that one is started for it.
fn count() -> usize {
    let scratch = dat_sync::thread::start("dat-processors", available);
    scratch.ok().and_then(dat_sync::thread::Thread::join).unwrap_or_else(available)
}

fn available() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
