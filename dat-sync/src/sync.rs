//! The locks of this crate: those of `lock`, or their replacements in the models of `.ci/loom`.

#[cfg(not(all(test, loom)))]
pub(crate) use crate::lock::{Mutex, MutexGuard};
#[cfg(all(test, loom))]
pub(crate) use crate::modelled::{Chunks, Mutex, MutexGuard, pause};

/// Backs off while this thread waits for another one: spins, then yields, then sleeps.
#[cfg(not(all(test, loom)))]
#[cold]
pub(crate) fn pause(turn: &mut u32) {
    const AWAKE: u32 = 64;
    const YIELDING: u32 = AWAKE + 16;
    *turn = turn.saturating_add(1);
    if *turn <= AWAKE {
        std::hint::spin_loop();
    } else if *turn <= YIELDING {
        std::thread::yield_now();
    } else {
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
}
