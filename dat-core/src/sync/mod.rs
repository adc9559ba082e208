//! The locks of what sleeps and wakes: event dispatchers, notification objects and their bells.
//!
//! They are those of `parking_lot`, under their own names, at no cost. Only the models of
//! `.ci/loom` put in their place locks whose every interleaving is tried.

#[cfg(all(test, loom))]
mod modelled;
#[cfg(not(all(test, loom)))]
mod readable;

#[cfg(not(all(test, loom)))]
pub(crate) use crate::biased::BiasedLock;
/// In the models of its users it is what it stands for; it has a model of its own.
#[cfg(all(test, loom))]
pub(crate) use modelled::Mutex as BiasedLock;
#[cfg(all(test, loom))]
pub(crate) use modelled::{Chunks, Condvar, LateInit, Mutex, MutexGuard, await_readable, pause};
#[cfg(not(all(test, loom)))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
#[cfg(not(all(test, loom)))]
pub(crate) use readable::await_readable;
#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::OnceLock as LateInit;

/// Lets the processor rest for a moment, between two looks at what another thread changes.
#[inline]
pub(crate) fn pause_shortly() {
    #[cfg(not(all(test, loom)))]
    std::hint::spin_loop();
    #[cfg(all(test, loom))]
    loom::thread::yield_now();
}

/// Lets another thread get on that this one waits for without a lock: shortly awake, then asleep.
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
