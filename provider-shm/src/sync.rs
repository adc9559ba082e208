//! Atomics, or their models.

#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

#[cfg(all(test, loom))]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// The word, for futex(2).
#[cfg(not(all(test, loom)))]
pub(crate) const fn as_futex(word: &AtomicU32) -> &AtomicU32 {
    word
}

#[cfg(all(test, loom))]
pub(crate) fn as_futex(_: &AtomicU32) -> &std::sync::atomic::AtomicU32 {
    unreachable!("no thread of a model sleeps in the kernel")
}
