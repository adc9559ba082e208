//! A table from 32-bit memory contexts to what they stand for, read without a lock.
//!
//! A context is the index of a slot and eight bits of its generation, never 0. Slots live in
//! chunks that are never moved or freed, so a look-up is two loads and a compare; freed slots
//! are reused oldest first, so that a stale context is caught in practice.

use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use parking_lot::{Mutex, const_mutex};

/// What a context stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first address.
    pub address: u64,
    /// How many bytes.
    pub length: u64,
    /// Whose it is: a protection zone or domain, by number.
    pub owner: u64,
    /// A value of the table's user, such as a key of the device.
    pub value: u64,
    /// What may be done with it, in bits of the table's user.
    pub access: u32,
}

impl Region {
    /// Whether a range is wholly inside.
    #[inline]
    #[must_use]
    pub fn contains(&self, address: u64, length: u64) -> bool {
        match address.checked_sub(self.address) {
            Some(offset) => offset <= self.length && length <= self.length - offset,
            None => false,
        }
    }
}

/// One cache line, since regions in random order are found by as many misses.
#[derive(Debug)]
#[repr(align(64))]
struct Slot {
    /// The context that is valid for the slot, or [`VACANT`].
    context: AtomicU32,
    access: AtomicU32,
    address: AtomicU64,
    length: AtomicU64,
    owner: AtomicU64,
    value: AtomicU64,
}

/// The context of a slot without a region; its index is beyond the table, so nobody finds it.
const VACANT: u32 = u32::MAX;

/// Chunk `n` holds `1 << n` slots, and its number is that of the highest bit of their positions.
const CHUNKS: usize = (u32::BITS - GENERATION_BITS) as usize;
const GENERATION_BITS: u32 = 8;
/// The first position: there are no chunks so small that they are not worth an allocation.
const FIRST: u32 = 64;
/// The last position; that of [`VACANT`] comes after it.
const LAST: u32 = (VACANT >> GENERATION_BITS) - 1;

/// The table; see the module.
#[derive(Debug)]
pub struct RegionTable {
    chunks: [OnceLock<Box<[Slot]>>; CHUNKS],
    free: Mutex<FreeList>,
}

#[derive(Debug)]
struct FreeList {
    /// Contexts to hand out next, oldest first; each with the generation it will have.
    retired: VecDeque<u32>,
    /// Slots that were never used start here.
    fresh: u32,
    live: u32,
}

impl Default for RegionTable {
    fn default() -> Self {
        Self::new()
    }
}

impl RegionTable {
    /// How many regions a table can hold.
    pub const CAPACITY: u32 = LAST - FIRST + 1;
    /// Freed slots that rest before one is used again while fresh ones are left.
    const REST: usize = 64;

    /// An empty table.
    #[must_use]
    pub const fn new() -> Self {
        let free = FreeList { retired: VecDeque::new(), fresh: FIRST, live: 0 };
        Self { chunks: [const { OnceLock::new() }; CHUNKS], free: const_mutex(free) }
    }

    /// How many regions it holds.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.free.lock().live
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a region and returns its context, or nothing when the table is full.
    pub fn insert(&self, region: Region) -> Option<u32> {
        let mut free = self.free.lock();
        let context = if free.retired.len() > Self::REST || free.fresh > LAST {
            free.retired.pop_front()?
        } else {
            free.fresh += 1;
            ((free.fresh - 1) << GENERATION_BITS) | 1
        };
        free.live += 1;
        let slot = self.make_slot(context >> GENERATION_BITS);
        slot.store(region);
        slot.context.store(context, Ordering::Release);
        Some(context)
    }

    /// What a context stands for, if it is valid.
    #[inline]
    #[must_use]
    pub fn get(&self, context: u32) -> Option<Region> {
        let slot = self.slot(context >> GENERATION_BITS)?;
        if slot.context.load(Ordering::Acquire) != context {
            return None;
        }
        let region = slot.load();
        // The slot may have been freed and reused while it was read: then the context changed.
        fence(Ordering::Acquire);
        (slot.context.load(Ordering::Relaxed) == context).then_some(region)
    }

    /// The value of a valid context whose region is that owner's, allows all of `access` and
    /// contains the range.
    #[inline(always)]
    #[must_use]
    pub fn find(
        &self,
        context: u32,
        owner: u64,
        access: u32,
        address: u64,
        length: u64,
    ) -> Option<u64> {
        let slot = self.slot(context >> GENERATION_BITS)?;
        if slot.context.load(Ordering::Acquire) != context {
            return None;
        }
        let region = slot.load();
        fence(Ordering::Acquire);
        // One jump for what is equal or not: each alone is never taken.
        let differs = u64::from(slot.context.load(Ordering::Relaxed) ^ context)
            | (region.owner ^ owner)
            | u64::from(!region.access & access);
        if differs != 0 {
            return None;
        }
        // Regions end before the addresses do (`Slot::store`), so an address below the first is
        // farther from it than any region is long.
        let offset = address.wrapping_sub(region.address);
        let left = region.length.checked_sub(offset)?;
        (length <= left).then_some(region.value)
    }

    /// Whether a context was ever handed out for the slot that it names, valid or not any more.
    #[must_use]
    pub fn was_issued(&self, context: u32) -> bool {
        let generation = context & ((1 << GENERATION_BITS) - 1);
        generation != 0 && (context >> GENERATION_BITS) < self.free.lock().fresh
    }

    /// Gives the slot of a valid context new contents under a new context; the old one is
    /// invalid from then on.
    pub fn renew(&self, context: u32, region: Region) -> Option<u32> {
        let _free = self.free.lock();
        let slot = self.slot(context >> GENERATION_BITS)?;
        if slot.context.load(Ordering::Relaxed) != context {
            return None;
        }
        let next = next_generation(context);
        slot.context.store(VACANT, Ordering::Relaxed);
        fence(Ordering::Release);
        slot.store(region);
        slot.context.store(next, Ordering::Release);
        Some(next)
    }

    /// Removes a region; its context is invalid when this returns. Whether it was valid.
    pub fn remove(&self, context: u32) -> bool {
        let mut free = self.free.lock();
        let Some(slot) = self.slot(context >> GENERATION_BITS) else { return false };
        if slot.context.load(Ordering::Relaxed) != context {
            return false;
        }
        slot.context.store(VACANT, Ordering::Relaxed);
        fence(Ordering::Release);
        free.retired.push_back(next_generation(context));
        free.live -= 1;
        true
    }

    /// The chunk of a position, and the place in it.
    #[inline(always)]
    fn locate(position: u32) -> (usize, usize) {
        let chunk = (position | 1).ilog2();
        (chunk as usize, (position ^ (1 << chunk)) as usize)
    }

    #[inline(always)]
    fn slot(&self, index: u32) -> Option<&Slot> {
        let (chunk, offset) = Self::locate(index);
        self.chunks.get(chunk)?.get()?.get(offset)
    }

    fn make_slot(&self, index: u32) -> &Slot {
        let (chunk, offset) = Self::locate(index);
        let slots = self.chunks[chunk]
            .get_or_init(|| (0..1_usize << chunk).map(|_| Slot::vacant()).collect());
        &slots[offset]
    }
}

impl Slot {
    fn vacant() -> Self {
        Self {
            context: AtomicU32::new(VACANT),
            access: AtomicU32::new(0),
            address: AtomicU64::new(0),
            length: AtomicU64::new(0),
            owner: AtomicU64::new(0),
            value: AtomicU64::new(0),
        }
    }

    fn store(&self, region: Region) {
        self.access.store(region.access, Ordering::Relaxed);
        self.address.store(region.address, Ordering::Relaxed);
        // No memory has the last address, and `find` counts on that.
        let length = region.length.min(u64::MAX - region.address);
        self.length.store(length, Ordering::Relaxed);
        self.owner.store(region.owner, Ordering::Relaxed);
        self.value.store(region.value, Ordering::Relaxed);
    }

    #[inline]
    fn load(&self) -> Region {
        Region {
            access: self.access.load(Ordering::Relaxed),
            address: self.address.load(Ordering::Relaxed),
            length: self.length.load(Ordering::Relaxed),
            owner: self.owner.load(Ordering::Relaxed),
            value: self.value.load(Ordering::Relaxed),
        }
    }
}

/// The next context of the same slot; the generation is never 0, so no context is.
fn next_generation(context: u32) -> u32 {
    let index = context & !((1 << GENERATION_BITS) - 1);
    let generation = (context & ((1 << GENERATION_BITS) - 1)) % ((1 << GENERATION_BITS) - 1) + 1;
    index | generation
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(address: u64) -> Region {
        Region { address, length: 10, owner: 1, value: address * 2, access: 3 }
    }

    #[test]
    fn a_context_finds_its_region_until_removed_and_never_after() {
        let table = RegionTable::new();
        let contexts: Vec<u32> =
            (0..10_000).map(|n| table.insert(region(n)).expect("room")).collect();
        for (n, &context) in contexts.iter().enumerate() {
            assert_eq!(table.get(context), Some(region(n as u64)));
        }
        for &context in &contexts {
            assert!(table.remove(context));
            assert!(!table.remove(context), "removed twice");
            assert_eq!(table.get(context), None);
        }
        assert!(table.is_empty());
        // Slots are reused, under other contexts.
        for n in 0..10_000 {
            let context = table.insert(region(n)).expect("room");
            assert!(!contexts.contains(&context) || n > 9_000);
        }
    }

    #[test]
    fn made_up_contexts_find_nothing() {
        let table = RegionTable::new();
        let valid = table.insert(region(1)).expect("room");
        for context in [0, 1 << GENERATION_BITS, u32::MAX, valid + 1, valid ^ 0x8000_0000] {
            assert_eq!(table.get(context), None, "{context:#x}");
        }
    }

    #[test]
    fn renewing_makes_the_old_context_invalid_and_never_gives_zero() {
        let table = RegionTable::new();
        let mut context = table.insert(region(0)).expect("room");
        for n in 1..1_000 {
            let next = table.renew(context, region(n)).expect("valid");
            assert_ne!(next, 0);
            assert_eq!(table.get(context), None);
            assert_eq!(table.get(next), Some(region(n)));
            context = next;
        }
    }

    #[test]
    fn a_range_is_inside_only_without_overflow() {
        let region = Region { address: u64::MAX - 10, length: 10, ..region(0) };
        assert!(region.contains(u64::MAX - 10, 10));
        assert!(region.contains(u64::MAX, 0));
        assert!(!region.contains(u64::MAX, 1));
        assert!(!region.contains(u64::MAX - 11, 1));
        assert!(!region.contains(u64::MAX - 5, u64::MAX));
    }
}
