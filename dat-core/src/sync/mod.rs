//! The locks of what sleeps and wakes: event dispatchers, notification objects and their bells.
//!
//! They are those of `parking_lot`, under their own names, at no cost, with a word to sleep on.
//! Only the models of `.ci/loom` put in their place locks whose every interleaving is tried.

#[cfg(all(test, loom))]
mod modelled;
#[cfg(not(all(test, loom)))]
mod readable;
#[cfg(not(all(test, loom)))]
mod wake_word;

#[cfg(not(all(test, loom)))]
pub(crate) use dat_sync::biased::BiasedLock;
/// In the models of its users it is what it stands for; it has a model of its own.
#[cfg(all(test, loom))]
pub(crate) use dat_sync::modelled::Mutex as BiasedLock;
#[cfg(all(test, loom))]
pub(crate) use dat_sync::modelled::Mutex;
#[cfg(all(test, loom))]
pub(crate) use modelled::{LateInit, WakeWord, await_readable};
#[cfg(not(all(test, loom)))]
pub(crate) use parking_lot::Mutex;
#[cfg(not(all(test, loom)))]
pub(crate) use readable::await_readable;
#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::OnceLock as LateInit;
#[cfg(not(all(test, loom)))]
pub(crate) use wake_word::WakeWord;

/// Lets the processor rest for a moment, between two looks at what another thread changes.
#[inline]
pub(crate) fn pause_shortly() {
    #[cfg(not(all(test, loom)))]
    std::hint::spin_loop();
    #[cfg(all(test, loom))]
    loom::thread::yield_now();
}
