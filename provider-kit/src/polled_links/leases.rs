//! The leases of a completion queue: the links that its poller reads instead of the thread of the engine.
//!
//! A sleeping poller reads nothing, so no link may be lent to it. The lender counts its lease before it
//! checks whether the poller sleeps; the poller announces its sleep before it checks for leases. With a
//! fence in between, at least one of them sees the other.

use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::sync::full_fence;

/// The number of links that the poller reads, and whether it sleeps.
#[derive(Debug)]
pub(crate) struct Leases {
    lent: AtomicU32,
    is_asleep: AtomicBool,
}

impl Leases {
    pub(crate) fn new() -> Self {
        Self { lent: AtomicU32::new(0), is_asleep: AtomicBool::new(false) }
    }

    /// Lends a link to the poller. Returns false, without effect, if the poller sleeps. The caller holds the lock of
    /// the link.
    #[must_use]
    pub(crate) fn lend(&self) -> bool {
        self.lent.fetch_add(1, Ordering::Relaxed);
        // Pairs with the fence of `begin_sleep`.
        full_fence();
        let is_lent = !self.is_asleep.load(Ordering::Relaxed);
        if !is_lent {
            self.take_back();
        }
        is_lent
    }

    /// Returns true if a link is lent to the poller, which does not sleep.
    pub(crate) fn is_any_lent(&self) -> bool {
        self.lent.load(Ordering::Relaxed) > 0
    }

    /// Returns true if the poller sleeps.
    pub(crate) fn is_asleep(&self) -> bool {
        self.is_asleep.load(Ordering::Relaxed)
    }

    /// Takes a link back from the poller. The caller holds the lock of the link.
    pub(crate) fn take_back(&self) {
        self.lent.fetch_sub(1, Ordering::Relaxed);
    }

    /// The poller is about to sleep. Returns true if it must first give back its links, each under the lock of the
    /// link.
    #[must_use]
    pub(crate) fn begin_sleep(&self) -> bool {
        self.is_asleep.store(true, Ordering::Relaxed);
        // Pairs with the fence of `lend`.
        full_fence();
        self.lent.load(Ordering::Relaxed) > 0
    }

    /// The poller polls again.
    pub(crate) fn end_sleep(&self) {
        self.is_asleep.store(false, Ordering::Relaxed);
    }
}
