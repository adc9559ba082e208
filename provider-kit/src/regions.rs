//! The region table of the process, and unique ids.

use std::sync::atomic::{AtomicU64, Ordering};

use dat_sync::region_table::{NoContext, Region, RegionTable};
use dat_sync::{ProcessGuard, ProcessLock, Rank};

use crate::direct::page;

static REGIONS: RegionTable = RegionTable::new();
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Held by each thread that changes the table or the page, so that no process is forked meanwhile.
fn changing() -> ProcessGuard<()> {
    static CHANGES: ProcessLock<()> = ProcessLock::new(Rank::Regions, ());
    CHANGES.lock()
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
pub(crate) fn insert(region: Region, is_remote: bool) -> Result<u32, NoContext> {
    let _changing = changing();
    let key = regions().insert(region)?;
    if is_remote {
        page::publish(key, &region);
    }
    Ok(key)
}

/// Removes a region or window. Returns true if the key was valid. Direct accesses in progress
/// continue until [`direct::revoke`](crate::direct) returns.
pub(crate) fn remove(key: u32) -> bool {
    let _changing = changing();
    page::withdraw(key);
    regions().remove(key)
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
pub(crate) fn set(key: u32, region: Region) -> bool {
    let _changing = changing();
    let is_set = regions().set(key, region);
    if is_set {
        page::publish(key, &region);
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
