//! The locks of what sleeps and wakes: event dispatchers, notification objects and their bells.
//!
//! They are those of `parking_lot`, under their own names, at no cost. Only the models of
//! `.ci/loom` put in their place locks whose every interleaving is tried.

#[cfg(all(test, loom))]
mod modelled;

#[cfg(all(test, loom))]
pub(crate) use modelled::{Condvar, LateInit, Mutex};
#[cfg(not(all(test, loom)))]
pub(crate) use parking_lot::{Condvar, Mutex};
#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::OnceLock as LateInit;
