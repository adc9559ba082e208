//! The function tables that handles of providers of C may point to.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;

use super::handles;
use crate::abi::DAT_PROVIDER;

/// Their addresses, one for each that knows it.
static KNOWN: RwLock<Vec<usize>> = RwLock::new(Vec::new());

/// Whether there is any; while there is none, no handle is foreign.
static ANY: AtomicBool = AtomicBool::new(false);

/// Whether there is any.
#[inline]
pub(super) fn any() -> bool {
    ANY.load(Ordering::Relaxed)
}

/// Whether an address is that of a table.
pub(super) fn contains(address: usize) -> bool {
    KNOWN.read().contains(&address)
}

/// A table of a provider of C, known for as long as this lives.
pub(super) struct Table(usize);

impl Table {
    /// Makes a table known.
    ///
    /// # Safety
    /// The address is that of a table, which stays until this is dropped.
    pub(super) unsafe fn know(address: usize) -> Self {
        let mut known = KNOWN.write();
        known.push(address);
        ANY.store(true, Ordering::Relaxed);
        Self(address)
    }

    pub(super) fn functions(&self) -> &'static DAT_PROVIDER {
        // SAFETY: known by this very value.
        unsafe { at(self.0) }
    }

    pub(super) fn address(&self) -> usize {
        self.0
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let mut known = KNOWN.write();
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
/// The address is that of a table that is known, and stays so while the reference is used.
pub(super) unsafe fn at(address: usize) -> &'static DAT_PROVIDER {
    // SAFETY: as the caller promises.
    unsafe { &*std::ptr::with_exposed_provenance::<DAT_PROVIDER>(address) }
}
