//! The function tables to which handles of C providers may point.

use std::sync::atomic::{AtomicBool, Ordering};

use dat_sync::{ProcessLock, Rank};

use super::handles;
use crate::abi::DAT_PROVIDER;

/// Their addresses; one entry per `Table`.
static KNOWN: ProcessLock<Vec<usize>> = ProcessLock::new(Rank::ForeignTables, Vec::new());

/// True if there are any; if not, no handle belongs to a C provider.
static ANY: AtomicBool = AtomicBool::new(false);

/// Returns true if there are any known tables.
#[inline]
pub(super) fn any() -> bool {
    ANY.load(Ordering::Relaxed)
}

/// Returns true if an address is that of a known table.
pub(super) fn contains(address: usize) -> bool {
    KNOWN.lock().contains(&address)
}

/// A table of a C provider, known as long as this value exists.
pub(super) struct Table(usize);

impl Table {
    /// Makes a table known.
    ///
    /// # Safety
    /// The address is that of a table that stays valid until this is dropped.
    pub(super) unsafe fn register(address: usize) -> Self {
        let mut known = KNOWN.lock();
        known.push(address);
        ANY.store(true, Ordering::Relaxed);
        Self(address)
    }

    pub(super) fn functions(&self) -> &'static DAT_PROVIDER {
        // SAFETY: this value keeps the table known, and its creator guaranteed that it is valid.
        unsafe { at(self.0) }
    }

    pub(super) fn address(&self) -> usize {
        self.0
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let mut known = KNOWN.lock();
        if let Some(place) = known.iter().position(|&it| it == self.0) {
            known.swap_remove(place);
        }
        ANY.store(!known.is_empty(), Ordering::Relaxed);
        drop(known);
        handles::forget_all();
    }
}

/// The table at an address.
///
/// # Safety
/// The address is that of a known table, which stays known while the reference is used.
pub(super) unsafe fn at(address: usize) -> &'static DAT_PROVIDER {
    // SAFETY: the caller guarantees a known and thus valid table.
    unsafe { &*std::ptr::with_exposed_provenance::<DAT_PROVIDER>(address) }
}
