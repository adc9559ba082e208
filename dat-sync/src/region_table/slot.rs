//! The slot of a context, and how it is read while it changes.

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::Region;

/// Half a cache line: a lookup of regions in random order misses the cache once.
///
/// A seqlock without retry. A reader loads `head`, then the rest, then `head` again, and reports
/// "no such region" if it changed. A writer first invalidates `head`, then stores the rest, then
/// publishes the new `head`. All zero means vacant.
#[derive(Debug, Default)]
#[repr(C, align(32))]
pub(super) struct Slot {
    /// The valid context of the slot in the low half, its owner in the high half; [`VACANT`] if
    /// none.
    head: AtomicU64,
    address: AtomicU64,
    /// The length in bytes, and in the low bits the accesses that are *denied*, for a quick test.
    limits: AtomicU64,
    value: AtomicU64,
}

#[cfg(not(all(test, loom)))]
#[allow(unsafe_code, reason = "chunks are zeroed, and only the slot knows what that is")]
// SAFETY: atomics whose bytes are zero have the value 0, which is a vacant slot.
unsafe impl crate::pages::Zeroed for Slot {}

/// No valid context is 0.
const VACANT: u64 = 0;
/// The head of a slot that never has a region: no slot has this context.
const CLOSED: u64 = u32::MAX as u64;

const ACCESS_BITS: u32 = 8;
const ACCESS: u64 = (1 << ACCESS_BITS) - 1;

/// Maximum length of a region in bytes: more than any processor can address.
const LONGEST: u64 = u64::MAX >> ACCESS_BITS;

#[inline(always)]
fn head(context: u32, owner: u32) -> u64 {
    u64::from(owner) << 32 | u64::from(context)
}

impl Slot {
    /// The region of a context, if it is valid.
    #[inline]
    pub(super) fn get(&self, context: u32) -> Option<Region> {
        // Pairs with the last store of `fill`.
        let head = self.head.load(Ordering::Acquire);
        if head as u32 != context || head == VACANT {
            return None;
        }
        let (address, limits, value) = self.load();
        let region = Region {
            address,
            length: limits >> ACCESS_BITS,
            owner: (head >> 32) as u32,
            value,
            access: (!limits & ACCESS) as u32,
        };
        // If the slot was freed and reused during the read, the head has changed. Pairs with the fence of `fill`.
        fence(Ordering::Acquire);
        (self.head.load(Ordering::Relaxed) == head).then_some(region)
    }

    /// See [`RegionTable::find`](super::RegionTable::find).
    #[inline(always)]
    pub(super) fn find(
        &self,
        context: u32,
        owner: u32,
        access: u32,
        address: u64,
        length: u64,
    ) -> Option<u64> {
        let head = head(context, owner);
        if self.head.load(Ordering::Acquire) != head {
            return None;
        }
        let (first, limits, value) = self.load();
        // As in `get`.
        fence(Ordering::Acquire);
        if self.head.load(Ordering::Relaxed) != head || limits & u64::from(access) != 0 {
            return None;
        }
        // Regions end below the last address (`fill`), so for an address below the first one, the
        // wrapped offset exceeds the length of any region.
        let offset = address.wrapping_sub(first);
        let left = (limits >> ACCESS_BITS).checked_sub(offset)?;
        (length <= left).then_some(value)
    }

    /// Returns true if a context is valid; the caller holds the writers' lock.
    pub(super) fn is(&self, context: u32) -> bool {
        let head = self.head.load(Ordering::Relaxed);
        head as u32 == context && head != VACANT
    }

    /// Returns true if no context is valid; the caller holds the writers' lock.
    pub(super) fn is_vacant(&self) -> bool {
        self.head.load(Ordering::Relaxed) == VACANT
    }

    /// Publishes a region in a vacant slot; the caller holds the writers' lock.
    pub(super) fn fill(&self, context: u32, region: Region) {
        // Release: a reader that sees a store below also sees that the head was cleared.
        fence(Ordering::Release);
        self.address.store(region.address, Ordering::Relaxed);
        // No memory contains the last address, and `find` relies on that.
        let length = region.length.min(u64::MAX - region.address).min(LONGEST);
        let denied = !u64::from(region.access) & ACCESS;
        self.limits.store(length << ACCESS_BITS | denied, Ordering::Relaxed);
        self.value.store(region.value, Ordering::Relaxed);
        self.head.store(head(context, region.owner), Ordering::Release);
    }

    /// Makes the slot vacant; the caller holds the writers' lock.
    pub(super) fn clear(&self) {
        // Relaxed: the caller then waits for the threads that have found the region.
        self.head.store(VACANT, Ordering::Relaxed);
    }

    /// Makes the slot unfindable, even for context 0 and owner 0.
    pub(super) fn close(&self) {
        self.head.store(CLOSED, Ordering::Relaxed);
    }

    #[inline(always)]
    fn load(&self) -> (u64, u64, u64) {
        (
            self.address.load(Ordering::Relaxed),
            self.limits.load(Ordering::Relaxed),
            self.value.load(Ordering::Relaxed),
        )
    }
}
