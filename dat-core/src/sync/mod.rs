//! The locks of the code that sleeps and wakes: dispatchers, notification objects and wakeups.
//!
//! They are re-exports of `dat_sync`, without extra cost, and a word to sleep on. Only the
//! models of `.ci/loom` replace them by locks whose interleavings loom tries.

#[cfg(all(test, loom))]
mod modelled;
#[cfg(not(all(test, loom)))]
mod sleep;

#[cfg(not(all(test, loom)))]
pub(crate) use dat_sync::Mutex;
#[cfg(not(all(test, loom)))]
pub(crate) use dat_sync::biased::BiasedLock;
/// In the models of its users a plain mutex takes its place; the lock itself has its own model.
#[cfg(all(test, loom))]
pub(crate) use dat_sync::modelled::Mutex as BiasedLock;
#[cfg(all(test, loom))]
pub(crate) use dat_sync::modelled::Mutex;
#[cfg(all(test, loom))]
pub(crate) use modelled::{LateInit, WakeWord, await_readable};
#[cfg(not(all(test, loom)))]
pub(crate) use sleep::{WakeWord, await_readable};
#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::OnceLock as LateInit;

/// A pause between two checks of a value that another thread changes.
#[inline]
pub(crate) fn pause_shortly() {
    #[cfg(not(all(test, loom)))]
    std::hint::spin_loop();
    #[cfg(all(test, loom))]
    loom::thread::yield_now();
}
