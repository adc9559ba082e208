//! Epochs: they tell a provider whether a check that the core made is still valid.

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU64, Ordering};

/// The time between two deregistrations of an adapter's memory. Posts carry the epoch in which the
/// core checked their segments.
///
/// The default is not an epoch of any adapter: its segments have not been checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epoch(u64);

impl Epoch {
    /// The epoch as a number, for storage.
    #[inline(always)]
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// The epochs of an adapter. The core ends one after a region has been removed from the table, and
/// before it calls `MemoryRegion::deregister` of the provider.
///
/// If an epoch has not ended, *as seen under a lock that `deregister` waits for*, all segments
/// checked in it lie in memory that is registered, and that stays registered until the provider
/// releases this lock. If it has ended, the provider has to check each segment again.
#[derive(Debug)]
pub struct Epochs {
    now: AtomicU64,
}

impl Default for Epochs {
    fn default() -> Self {
        Self { now: AtomicU64::new(1) }
    }
}

impl Epochs {
    /// The current epoch, for segments that are checked after this call.
    #[inline(always)]
    #[must_use]
    pub fn now(&self) -> Epoch {
        // Acquire: a thread that sees this epoch no longer finds regions removed before it.
        Epoch(self.now.load(Ordering::Acquire))
    }

    /// Returns true if the epoch with that number has not ended.
    #[inline(always)]
    #[must_use]
    pub fn is_current(&self, number: u64) -> bool {
        self.now.load(Ordering::Relaxed) == number
    }

    /// Ends the current epoch: a region was removed.
    pub fn end(&self) {
        // Release: pairs with `now`.
        self.now.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_ends_once_and_the_default_one_is_never_current() {
        let epochs = Epochs::default();
        let first = epochs.now();
        assert!(epochs.is_current(first.number()));
        epochs.end();
        assert!(!epochs.is_current(first.number()));
        assert!(epochs.is_current(epochs.now().number()));
        assert!(!epochs.is_current(Epoch::default().number()));
        assert!(!Epochs::default().is_current(Epoch::default().number()));
    }
}
