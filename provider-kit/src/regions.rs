//! The region table of the process, and unique ids.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dat_sync::region_table::{NoContext, Region, RegionTable};
use dat_sync::{ProcessGuard, ProcessLock, Rank};

use crate::direct::page;

static REGIONS: RegionTable = RegionTable::new();
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// True once a key names memory by other addresses than its own.
static HAS_SHIFTS: AtomicBool = AtomicBool::new(false);

/// The keys that name memory by other addresses, each with what has to be added to such an address. They are in the
/// table with these addresses, and are not published.
type Shifts = BTreeMap<u32, u64>;

/// Held by each thread that changes the table or the page, so that no process is forked meanwhile.
fn changing() -> ProcessGuard<Shifts> {
    static CHANGES: ProcessLock<Shifts> = ProcessLock::new(Rank::Regions, BTreeMap::new());
    CHANGES.lock()
}

/// A region or window with what has to be added to its addresses to find the memory.
#[derive(Clone, Copy)]
pub(crate) struct Placed {
    /// The region, by the addresses that name it.
    pub(crate) region: Region,
    /// The distance of the memory, modulo 2^64.
    pub(crate) shift: u64,
}

impl Placed {
    /// A key is about to name the region.
    fn note(self, key: u32, shifts: &mut Shifts) {
        if self.shift != 0 {
            HAS_SHIFTS.store(true, Ordering::Relaxed);
            shifts.insert(key, self.shift);
        }
    }

    /// Publishes the region, unless peers would have to know the shift.
    fn publish(self, key: u32) {
        if self.shift == 0 {
            page::publish(key, &self.region);
        }
    }
}

impl From<Region> for Placed {
    fn from(region: Region) -> Self {
        Self { region, shift: 0 }
    }
}

/// As [`RegionTable::find`], with the address of the memory. The caller has found the key before.
pub(crate) fn locate(
    key: u32,
    owner: u32,
    access: u32,
    (address, length): (u64, u64),
) -> Option<(u64, u64)> {
    let find = || regions().find(key, owner, access, address, length);
    if !HAS_SHIFTS.load(Ordering::Relaxed) {
        return Some((find()?, address));
    }
    // The key and its shift change together.
    let shifts = changing();
    let value = find()?;
    Some((value, address.wrapping_add(shifts.get(&key).copied().unwrap_or(0))))
}

/// The table of all regions and windows of software providers. There is one per process, because a
/// connection may join two adapters.
#[inline]
pub fn regions() -> &'static RegionTable {
    &REGIONS
}

/// Adds a region or window to the table, and publishes it if peers may access it directly.
///
/// # Errors
/// The reason why the table has no context for it.
pub(crate) fn insert(placed: Placed, is_remote: bool) -> Result<u32, NoContext> {
    let mut shifts = changing();
    if placed.shift != 0 {
        // A key that is valid has its shift.
        let key = regions().reserve()?;
        placed.note(key, &mut shifts);
        regions().resume(key, placed.region);
        return Ok(key);
    }
    let key = regions().insert(placed.region)?;
    if is_remote {
        placed.publish(key);
    }
    Ok(key)
}

/// Removes a region or window. Returns true if the key was valid. Direct accesses in progress
/// continue until [`direct::revoke`](crate::direct) returns.
pub(crate) fn remove(key: u32) -> bool {
    let mut shifts = changing();
    page::withdraw(key);
    let was_valid = regions().remove(key);
    if was_valid {
        shifts.remove(&key);
    }
    was_valid
}

/// Makes the key of a region invalid until it is resumed or released. Returns false if it was not valid. As
/// [`remove`], it does not end direct accesses.
pub(crate) fn suspend(key: u32) -> bool {
    let _changing = changing();
    page::withdraw(key);
    regions().suspend(key)
}

/// Makes a suspended key name another region, after all copies and direct accesses have ended.
pub(crate) fn resume(key: u32, region: Region, is_remote: bool) {
    let _changing = changing();
    regions().resume(key, region);
    if is_remote {
        page::publish(key, &region);
    }
}

/// Reserves keys that differ in their last byte, none of which is valid.
///
/// # Errors
/// As [`insert`].
pub(crate) fn reserve() -> Result<u32, NoContext> {
    let _changing = changing();
    regions().reserve()
}

/// Makes a reserved key name a window. Returns false if it is not reserved.
pub(crate) fn set(key: u32, placed: Placed) -> bool {
    let mut shifts = changing();
    placed.note(key, &mut shifts);
    let is_set = regions().set(key, placed.region);
    if is_set {
        placed.publish(key);
    } else {
        shifts.remove(&key);
    }
    is_set
}

/// Gives reserved keys back, none of which is valid any more.
pub(crate) fn release(key: u32) {
    let _changing = changing();
    regions().release(key);
}

/// Adds an owner of regions and returns its number.
pub(crate) fn add_owner() -> u32 {
    let _changing = changing();
    regions().add_owner(0)
}

/// Removes an owner whose regions have been removed.
pub(crate) fn remove_owner(number: u32) {
    let _changing = changing();
    regions().remove_owner(number);
}

/// An id that was never returned before; never 0.
pub fn unique_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// An id for a queue pair, which is reused only after 2^32 other ids; never 0.
pub fn queue_pair_id() -> u32 {
    (unique_id() as u32).max(1)
}
