//! Epochs: how a provider knows that what the core has checked still holds.

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU64, Ordering};

/// A time between two deregistrations of an adapter's memory. Posts name the one in which the
/// core checked their segments.
///
/// The default is no time at all: segments of it were checked by nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epoch(u64);

impl Epoch {
    /// The epoch as a number, to be kept where only numbers can be.
    #[inline(always)]
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// The epochs of an adapter. The core ends one after a region can't be found any more, and before
/// it calls `MemoryRegion::deregister` of the provider.
///
/// So where an epoch is not over *under what `deregister` waits for*, all segments that were
/// checked in it lie in memory that is registered, and stays so until the provider lets go of
/// what `deregister` waits for. Where it is over the provider has to look at each of them.
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
    /// The epoch that what is checked from now on was checked in.
    #[inline(always)]
    #[must_use]
    pub fn now(&self) -> Epoch {
        // Acquire: who sees an epoch finds nothing any more that was removed before it.
        Epoch(self.now.load(Ordering::Acquire))
    }

    /// Whether the epoch of that number is not over yet.
    #[inline(always)]
    #[must_use]
    pub fn is(&self, number: u64) -> bool {
        self.now.load(Ordering::Relaxed) == number
    }

    /// Ends the epoch: a region was removed.
    pub fn end(&self) {
        self.now.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_over_when_it_was_ended_and_no_time_never_is_now() {
        let epochs = Epochs::default();
        let first = epochs.now();
        assert!(epochs.is(first.number()));
        epochs.end();
        assert!(!epochs.is(first.number()));
        assert!(epochs.is(epochs.now().number()));
        assert!(!epochs.is(Epoch::default().number()));
        assert!(!Epochs::default().is(Epoch::default().number()));
    }
}
