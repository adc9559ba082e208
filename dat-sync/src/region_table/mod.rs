//! A table from 32-bit memory contexts to regions, read without a lock.
//!
//! A context consists of the index of a slot and eight bits of its generation, and is never 0.
//! Slots are never moved or freed, so a lookup is two loads and a compare. Freed slots are reused
//! oldest first, so that a stale context is detected in practice. Two slots share a cache line, and
//! large tables lie on huge pages: a lookup in random order costs one miss.

mod owners;
mod slot;

use std::collections::{BTreeSet, VecDeque};

#[cfg(not(all(test, loom)))]
use crate::pages::Chunks;
#[cfg(all(test, loom))]
use crate::sync::Chunks;

use crate::sync::Mutex;
use owners::Owners;
use slot::Slot;

/// The region that a context names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first address.
    pub address: u64,
    /// Its length in bytes; the table limits it to less than 2^56, and to an end below the last
    /// address.
    pub length: u64,
    /// Its owner: a protection zone or domain, by its number from [`RegionTable::add_owner`].
    pub owner: u32,
    /// A value of the table's user, such as a key of the device.
    pub value: u64,
    /// The permitted accesses: eight bits that the table does not interpret.
    pub access: u32,
}

impl Region {
    /// Returns true if a range lies completely inside.
    #[inline]
    #[must_use]
    pub fn contains(&self, address: u64, length: u64) -> bool {
        match address.checked_sub(self.address) {
            Some(offset) => offset <= self.length && length <= self.length - offset,
            None => false,
        }
    }
}

/// Why a region was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoContext {
    /// All contexts are in use.
    Full,
    /// The system gives no memory for more contexts.
    Memory,
}

impl NoContext {
    /// The reason, for the text of an error.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Full => "all memory contexts are in use",
            Self::Memory => "the system gives no memory for more memory contexts",
        }
    }

    /// The advice.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Full => "free regions that are not needed",
            Self::Memory => {
                "raise the limits of memory: after mlockall, that of locked memory (ulimit -l); otherwise that of \
                 the address space (ulimit -v) or of the control group"
            }
        }
    }
}

const GENERATION_BITS: u32 = 8;
/// The first slot in use: small numbers, which programs pass by mistake, are not contexts.
const FIRST: u32 = if cfg!(all(test, loom)) { 1 } else { 64 };
/// The last slot.
const LAST: u32 = (1 << (u32::BITS - GENERATION_BITS)) - 1;

/// The table; see the module.
#[derive(Debug)]
#[repr(C)]
pub struct RegionTable {
    slots: Chunks<Slot>,
    free: Mutex<FreeList>,
    owners: Owners,
}

#[derive(Debug)]
struct FreeList {
    /// Contexts to hand out next, oldest first, with their new generations.
    retired: VecDeque<u32>,
    /// The first slot that was never used.
    fresh: u32,
    live: u32,
    /// Slots whose contexts a user of the table chooses.
    reserved: BTreeSet<u32>,
}

impl FreeList {
    const fn new() -> Self {
        Self { retired: VecDeque::new(), fresh: FIRST, live: 0, reserved: BTreeSet::new() }
    }
}

impl Default for RegionTable {
    fn default() -> Self {
        Self::new()
    }
}

impl RegionTable {
    /// Maximum number of regions in a table.
    pub const CAPACITY: u32 = LAST - FIRST + 1;
    /// Number of freed slots that are kept unused while there are fresh ones.
    const REST: usize = if cfg!(all(test, loom)) { 0 } else { 64 };

    /// Creates an empty table.
    #[cfg(not(all(test, loom)))]
    #[must_use]
    pub const fn new() -> Self {
        let free = Mutex::new(FreeList::new());
        Self { slots: Chunks::new(), free, owners: Owners::new() }
    }

    /// Creates an empty table for a model.
    #[cfg(all(test, loom))]
    #[must_use]
    pub fn new() -> Self {
        Self { slots: Chunks::new(), free: Mutex::new(FreeList::new()), owners: Owners::new() }
    }

    /// Assigns a number to an owner of regions, which has a name. No other owner has that number
    /// until it is removed; it is never 0, which means no owner.
    pub fn add_owner(&self, name: u64) -> u32 {
        self.owners.add(name)
    }

    /// Removes an owner whose regions have been removed.
    pub fn remove_owner(&self, owner: u32) {
        self.owners.remove(owner);
    }

    /// The name of an owner; 0 if there is none.
    #[must_use]
    pub fn name_of(&self, owner: u32) -> u64 {
        self.owners.name(owner)
    }

    /// Number of regions in the table.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.free.lock().live
    }

    /// Returns true if the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a region and returns its context.
    ///
    /// # Errors
    /// Why there is no context for it.
    pub fn insert(&self, region: Region) -> Result<u32, NoContext> {
        let mut free = self.free.lock();
        let context = self.take_slot(&mut free)?;
        self.slot(context).ok_or(NoContext::Memory)?.fill(context, region);
        free.live += 1;
        Ok(context)
    }

    /// Takes a slot out of the table, and returns one of its contexts, which is not valid. [`set`](Self::set) gives a
    /// region to any context of the slot, which differ in their last byte; [`release`](Self::release) gives it back.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn reserve(&self) -> Result<u32, NoContext> {
        let mut free = self.free.lock();
        let context = self.take_slot(&mut free)?;
        free.reserved.insert(context >> GENERATION_BITS);
        Ok(context)
    }

    /// Makes a context of a reserved slot valid, and the one before invalid. Returns false, without effect, if the slot is
    /// not reserved.
    pub fn set(&self, context: u32, region: Region) -> bool {
        let mut free = self.free.lock();
        let is_reserved = free.reserved.contains(&(context >> GENERATION_BITS));
        let Some(slot) = self.slot(context).filter(|_| is_reserved) else { return false };
        free.live += u32::from(slot.is_vacant());
        slot.clear();
        slot.fill(context, region);
        true
    }

    /// Makes a valid context invalid, and reserves its slot for [`resume`](Self::resume). Returns false, without effect, if
    /// the context is not valid.
    pub fn suspend(&self, context: u32) -> bool {
        let mut free = self.free.lock();
        let Some(slot) = self.slot(context).filter(|slot| slot.is(context)) else { return false };
        slot.clear();
        free.live -= 1;
        free.reserved.insert(context >> GENERATION_BITS);
        true
    }

    /// Makes a suspended context valid again, for another region. No thread may be looking the context up since before it
    /// was suspended: it could find parts of both regions.
    pub fn resume(&self, context: u32, region: Region) {
        let mut free = self.free.lock();
        if let Some(slot) = self.slot(context) {
            slot.fill(context, region);
            free.live += 1;
        }
        free.reserved.remove(&(context >> GENERATION_BITS));
    }

    /// Gives a reserved slot back; none of its contexts is valid afterwards.
    pub fn release(&self, context: u32) {
        let mut free = self.free.lock();
        if !free.reserved.remove(&(context >> GENERATION_BITS)) {
            return;
        }
        if let Some(slot) = self.slot(context) {
            free.live -= u32::from(!slot.is_vacant());
            slot.clear();
        }
        free.retired.push_back(next_generation(context));
    }

    /// The next context to hand out.
    fn take_slot(&self, free: &mut FreeList) -> Result<u32, NoContext> {
        let context = if free.retired.len() > Self::REST || free.fresh > LAST {
            free.retired.pop_front().ok_or(NoContext::Full)?
        } else {
            self.slots.make(free.fresh).ok_or(NoContext::Memory)?;
            if free.fresh == FIRST {
                // Context 0 and owner 0 together have the same head as a slot that was never used.
                self.slots.get(0).ok_or(NoContext::Memory)?.close();
            }
            free.fresh += 1;
            ((free.fresh - 1) << GENERATION_BITS) | 1
        };
        Ok(context)
    }

    /// The region of a context, if it is valid.
    #[inline]
    #[must_use]
    pub fn get(&self, context: u32) -> Option<Region> {
        self.slot(context)?.get(context)
    }

    /// The value of a valid context whose region belongs to that owner, permits all of `access` and
    /// contains the range.
    #[inline(always)]
    #[must_use]
    pub fn find(
        &self,
        context: u32,
        owner: u32,
        access: u32,
        address: u64,
        length: u64,
    ) -> Option<u64> {
        self.slot(context)?.find(context, owner, access, address, length)
    }

    /// Returns true if a context was ever handed out for its slot, even if it is no longer valid.
    #[must_use]
    pub fn was_issued(&self, context: u32) -> bool {
        let generation = context & ((1 << GENERATION_BITS) - 1);
        let slot = context >> GENERATION_BITS;
        generation != 0 && (FIRST..self.free.lock().fresh).contains(&slot)
    }

    /// Removes a region and returns whether its context was valid; afterwards it is invalid.
    pub fn remove(&self, context: u32) -> bool {
        let mut free = self.free.lock();
        let Some(slot) = self.slot(context).filter(|slot| slot.is(context)) else { return false };
        slot.clear();
        if !free.reserved.contains(&(context >> GENERATION_BITS)) {
            free.retired.push_back(next_generation(context));
        }
        free.live -= 1;
        true
    }

    #[inline(always)]
    fn slot(&self, context: u32) -> Option<&Slot> {
        self.slots.get(context >> GENERATION_BITS)
    }
}

/// The next context of the same slot. Its generation is never 0, so a context never is.
fn next_generation(context: u32) -> u32 {
    let index = context & !((1 << GENERATION_BITS) - 1);
    let generation = (context & ((1 << GENERATION_BITS) - 1)) % ((1 << GENERATION_BITS) - 1) + 1;
    index | generation
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const LOCAL_READ: u32 = 1;
    const REMOTE_READ: u32 = 2;
    const LOCAL_WRITE: u32 = 0x10;
    const REMOTE_WRITE: u32 = 0x20;
    const REMOTE_ATOMIC: u32 = 0x40;
    const ACCESS_ALL: u32 = 0xff;

    fn region(address: u64) -> Region {
        let access = LOCAL_READ | REMOTE_WRITE;
        Region { address, length: 10, owner: 1, value: address * 2, access }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes an hour for thousands of regions")]
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
        // Slots are reused with other contexts.
        for n in 0..10_000 {
            let context = table.insert(region(n)).expect("room");
            assert!(!contexts.contains(&context) || n > 9_000);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes an hour for thousands of regions")]
    fn regions_stay_found_while_the_table_grows_onto_huge_pages() {
        const MANY: u64 = 140_000;
        let table = RegionTable::new();
        let first: Vec<u32> = (0..64).map(|n| table.insert(region(n)).expect("room")).collect();
        let rest = std::thread::scope(|scope| {
            let grower = scope.spawn(|| {
                (64..MANY).map(|n| table.insert(region(n)).expect("room")).collect::<Vec<_>>()
            });
            while !grower.is_finished() {
                for (n, &context) in first.iter().enumerate() {
                    assert_eq!(table.get(context), Some(region(n as u64)));
                }
            }
            grower.join().expect("no panic")
        });
        for (n, &context) in first.iter().chain(&rest).enumerate() {
            assert_eq!(table.get(context), Some(region(n as u64)));
        }
        assert_eq!(u64::from(table.len()), MANY);
    }

    #[test]
    fn the_contexts_of_a_reserved_slot_are_chosen_and_no_region_gets_them() {
        let table = RegionTable::new();
        let first = table.reserve().expect("room");
        let next = |by: u32| first & !0xff | (first + by) & 0xff;
        assert_eq!((table.get(first), table.len()), (None, 0));
        assert!(table.set(next(1), region(1)) && table.set(next(9), region(2)));
        assert_eq!((table.get(next(1)), table.get(next(9))), (None, Some(region(2))));
        assert!(table.remove(next(9)) && !table.remove(next(9)));
        for n in 0..1_000 {
            let context = table.insert(region(n)).expect("room");
            assert_ne!(context >> 8, first >> 8);
            assert!(!table.set(context, region(0)), "it is not reserved");
            assert!(table.remove(context));
        }
        assert!(table.set(next(2), region(3)));
        table.release(first);
        assert_eq!((table.get(next(2)), table.len()), (None, 0));
        assert!(!table.set(next(3), region(3)), "it is given back");
    }

    #[test]
    fn a_suspended_context_is_invalid_until_it_is_resumed_with_another_region() {
        let table = RegionTable::new();
        let context = table.insert(region(1)).expect("room");
        assert!(table.suspend(context) && !table.suspend(context));
        assert_eq!((table.get(context), table.len()), (None, 0));
        assert!(!table.remove(context), "it is not valid");
        table.resume(context, region(2));
        assert_eq!((table.get(context), table.len()), (Some(region(2)), 1));
        assert!(table.remove(context) && !table.set(context, region(3)), "it is not reserved");
        assert!(table.is_empty());
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
    fn no_region_is_found_in_a_slot_without_one() {
        let table = RegionTable::new();
        let nothing = 0;
        assert_eq!(table.find(0, 0, nothing, 0, 0), None, "before the first region");
        let context = table.insert(region(1)).expect("room");
        for vacant in [0, 1, u32::from(u8::MAX), context + (1 << GENERATION_BITS)] {
            assert_eq!(table.find(vacant, 0, nothing, 0, 0), None, "{vacant:#x}");
            assert!(!table.was_issued(vacant), "{vacant:#x}");
        }
        assert!(table.remove(context) && table.was_issued(context));
        assert_eq!(table.find(context, 1, nothing, 1, 0), None);
        assert_eq!(table.find(context & !u32::from(u8::MAX), 0, nothing, 0, 0), None);
    }

    #[test]
    fn find_checks_the_owner_the_access_and_the_range() {
        let table = RegionTable::new();
        let context = table.insert(region(100)).expect("room");
        let read = LOCAL_READ;
        for (owner, access, address, length, found) in [
            (1, read, 100, 10, true),
            (1, read, 109, 1, true),
            (1, read, 110, 0, true),
            (1, read | REMOTE_WRITE, 100, 1, true),
            (1, 0, 100, 1, true),
            (2, read, 100, 10, false),
            (0, read, 100, 10, false),
            (1, LOCAL_WRITE, 100, 10, false),
            (1, read | REMOTE_READ, 100, 10, false),
            (1, REMOTE_ATOMIC, 100, 10, false),
            (1, read, 99, 1, false),
            (1, read, 99, 0, false),
            (1, read, 100, 11, false),
            (1, read, 111, 0, false),
            (1, read, 105, u64::MAX, false),
            (1, read, u64::MAX, 1, false),
        ] {
            let value = table.find(context, owner, access, address, length);
            assert_eq!(value, found.then_some(200), "{owner} {access:?} {address} {length}");
        }
    }

    #[test]
    fn regions_keep_what_they_are_up_to_the_last_address() {
        let table = RegionTable::new();
        let owner = table.add_owner(u64::MAX);
        for address in [0, 1 << 47, 1 << 56, u64::MAX - 4096] {
            for length in [1, 4095, 1 << 48, 1 << 56, u64::MAX] {
                let access = ACCESS_ALL;
                let put = Region { address, length, owner, value: u64::MAX, access };
                let context = table.insert(put).expect("room");
                let kept = length.min(u64::MAX - address).min((1 << 56) - 1);
                assert_eq!(table.get(context), Some(Region { length: kept, ..put }));
                assert_eq!(table.find(context, owner, access, address, kept), Some(u64::MAX));
                assert_eq!(table.find(context, owner, access, address, kept + 1), None);
            }
        }
    }

    #[test]
    fn owners_have_numbers_of_their_own_and_keep_their_names() {
        let table = RegionTable::new();
        let numbers: Vec<u32> = (0..100).map(|name| table.add_owner(name << 40)).collect();
        for (name, &number) in numbers.iter().enumerate() {
            assert_ne!(number, 0);
            assert_eq!(table.name_of(number), (name as u64) << 40);
        }
        table.remove_owner(numbers[7]);
        assert_eq!(table.name_of(numbers[7]), 0);
        assert!(!numbers.contains(&table.add_owner(5)), "a number comes again at once");
        assert_eq!(table.name_of(0), 0);
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
