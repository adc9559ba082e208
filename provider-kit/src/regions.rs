//! The memory contexts of the process, and the numbers that name what uses them.

use std::sync::atomic::{AtomicU64, Ordering};

use dat_sync::region_table::RegionTable;

static REGIONS: RegionTable = RegionTable::new();
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// The table of all regions and windows of providers in software: one per process, because a
/// connection may join two adapters.
#[inline]
pub fn regions() -> &'static RegionTable {
    &REGIONS
}

/// A number that was never returned before, and is not 0.
pub fn unique_id() -> u64 {
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

/// A number for a queue pair, which is not reused until 2^32 others were returned; never 0.
pub fn queue_pair_id() -> u32 {
    (unique_id() as u32).max(1)
}
