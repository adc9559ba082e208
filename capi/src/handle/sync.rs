//! The atomics of the pins; in the models of `.ci/loom` those of loom.

#[cfg(all(test, loom))]
pub(super) use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
#[cfg(not(all(test, loom)))]
pub(super) use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
