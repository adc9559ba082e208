//! What the table keeps for a context, and how it is read while it changes.

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::Region;

/// Half a cache line: regions in random order are found by as many misses as there are lines.
///
/// Who reads looks at the head, at the rest, and at the head again: the rest belongs together if
/// the head was the same. Who writes makes the head that of nobody before and lets it be found
/// after. All zero it is vacant.
#[derive(Debug, Default)]
#[repr(C, align(32))]
pub(super) struct Slot {
    /// The context that is valid for the slot, and above it the owner; [`VACANT`] for none.
    head: AtomicU64,
    address: AtomicU64,
    /// The length, and in the low bits what may *not* be done, which a look-up sees at once.
    limits: AtomicU64,
    value: AtomicU64,
}

#[cfg(not(all(test, loom)))]
#[allow(unsafe_code, reason = "chunks are zeroed, and only the slot knows what that is")]
// SAFETY: atomics of zero bytes are 0, which is a vacant slot.
unsafe impl crate::pages::Zeroed for Slot {}

/// No context is 0.
const VACANT: u64 = 0;
/// The head of a slot that has no region for ever: its context is that of no slot.
const NOBODYS: u64 = u32::MAX as u64;

const ACCESS_BITS: u32 = 8;
const ACCESS: u64 = (1 << ACCESS_BITS) - 1;

/// The longest region: more than any processor can address.
const LONGEST: u64 = u64::MAX >> ACCESS_BITS;

#[inline(always)]
fn head(context: u32, owner: u32) -> u64 {
    u64::from(owner) << 32 | u64::from(context)
}

impl Slot {
    /// The region of a context, if it is valid.
    #[inline]
    pub(super) fn get(&self, context: u32) -> Option<Region> {
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
        // The slot may have been freed and reused while it was read: then the head changed.
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
        fence(Ordering::Acquire);
        if self.head.load(Ordering::Relaxed) != head || limits & u64::from(access) != 0 {
            return None;
        }
        // Regions end before the addresses do (`fill`), so an address below the first is farther
        // from it than any region is long.
        let offset = address.wrapping_sub(first);
        let left = (limits >> ACCESS_BITS).checked_sub(offset)?;
        (length <= left).then_some(value)
    }

    /// Whether a context is valid; under the lock of who writes.
    pub(super) fn is(&self, context: u32) -> bool {
        let head = self.head.load(Ordering::Relaxed);
        head as u32 == context && head != VACANT
    }

    /// Gives a vacant slot a region, which is found from now on; under the lock of who writes.
    pub(super) fn fill(&self, context: u32, region: Region) {
        // Who reads any of what follows does not find the head as it was before it was cleared.
        fence(Ordering::Release);
        self.address.store(region.address, Ordering::Relaxed);
        // No memory has the last address, and `find` counts on that.
        let length = region.length.min(u64::MAX - region.address).min(LONGEST);
        let denied = !u64::from(region.access) & ACCESS;
        self.limits.store(length << ACCESS_BITS | denied, Ordering::Relaxed);
        self.value.store(region.value, Ordering::Relaxed);
        self.head.store(head(context, region.owner), Ordering::Release);
    }

    /// Makes the slot vacant; under the lock of who writes.
    pub(super) fn clear(&self) {
        self.head.store(VACANT, Ordering::Relaxed);
    }

    /// Makes the slot one that nobody finds, not even as the vacant one of no context and no owner.
    pub(super) fn close(&self) {
        self.head.store(NOBODYS, Ordering::Relaxed);
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
