//! The region table of the process, and unique ids.

use std::sync::atomic::{AtomicU64, Ordering};

use dat_sync::region_table::RegionTable;

static REGIONS: RegionTable = RegionTable::new();
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// The table of all regions and windows of software providers. There is one per process, because a
/// connection may join two adapters.
#[inline]
pub fn regions() -> &'static RegionTable {
    &REGIONS
}

/// An id that was never returned before; never 0.
pub fn unique_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// An id for a queue pair, which is reused only after 2^32 other ids; never 0.
pub fn queue_pair_id() -> u32 {
    (unique_id() as u32).max(1)
}
