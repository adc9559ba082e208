//! Who gets which cell, and when an object that was freed is really gone.

use std::collections::VecDeque;
use std::ptr;
use std::sync::{Arc, LazyLock};

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::{Numbering, ObjectKind};
use parking_lot::Mutex;

use super::cell::{Cell, Phase};
use super::chunks::{self, Chunks};
use super::object::{self, Object};
use super::thread;
use crate::abi::{DAT_HANDLE, DAT_PROVIDER};

/// Freed objects that may wait for their end together: the look at all threads costs a fence in
/// each of them.
const BATCH: usize = 64;

static STORE: LazyLock<Mutex<Store>> = LazyLock::new(|| {
    thread::start();
    Mutex::default()
});

#[derive(Default)]
struct Store {
    chunks: Chunks,
    /// Cells without an object, the one that was freed first in front.
    free: VecDeque<&'static Cell>,
    /// Cells whose object was freed, and is still in place.
    dead: Vec<(&'static Cell, ObjectKind)>,
}

/// The numbers of the core's objects: addresses of cells.
pub(crate) fn numbering() -> Arc<dyn Numbering> {
    Arc::new(Cells)
}

struct Cells;

impl Numbering for Cells {
    fn issue(&self, kind: ObjectKind) -> Result<u64> {
        let mut store = STORE.lock();
        if store.free.is_empty() {
            let Some(cells) = store.chunks.grow() else {
                return Err(Error::new(ReturnType::InsufficientResources, Subtype::ResourceMemory));
            };
            store.free.extend(cells);
        }
        let Some(cell) = store.free.pop_front() else {
            return Err(Error::new(ReturnType::InternalError, Subtype::NoSubtype));
        };
        cell.enter(Phase::Reserved, kind);
        drop(store);
        // SAFETY: the cell was free, and until this call returns no other thread knows its number.
        unsafe { cell.forget() };
        Ok(ptr::from_ref(cell).expose_provenance() as u64)
    }

    fn retire(&self, kind: ObjectKind, number: u64) {
        let Some(cell) = chunks::locate(number as usize) else { return };
        let mut store = STORE.lock();
        if cell.is(Phase::Reserved, kind) {
            // C never saw it.
            cell.clear();
            store.free.push_back(cell);
        } else if cell.is(Phase::Live, kind) {
            cell.enter(Phase::Dead, kind);
            store.dead.push((cell, kind));
        }
    }
}

/// Puts an object in its cell, unless it is there already or was freed meanwhile; its handle.
pub(crate) fn attach<T: Object>(object: T, table: *mut DAT_PROVIDER) -> DAT_HANDLE {
    let handle = super::of_number(object.number());
    let Some(cell) = chunks::locate(handle.addr()) else { return handle };
    let store = STORE.lock();
    // A live object's number is its own: it is retired after the object ended.
    if object.is_live() && cell.is(Phase::Reserved, T::KIND) {
        cell.set_provider(table);
        // SAFETY: reserved for this very object, under the lock.
        unsafe { cell.fill(object) };
        cell.enter(Phase::Live, T::KIND);
    }
    drop(store);
    handle
}

/// Ends freed objects that nobody uses any more, if it is time. Objects may be dropped, so
/// nothing may be locked.
pub(crate) fn reclaim() {
    if STORE.lock().dead.len() >= BATCH {
        reclaim_all();
    }
}

/// Ends all freed objects that nobody uses any more.
pub(crate) fn reclaim_all() {
    let batch = std::mem::take(&mut STORE.lock().dead);
    if batch.is_empty() {
        return;
    }
    let announced = thread::announced();
    let (used, done): (Vec<_>, Vec<_>) =
        batch.into_iter().partition(|(cell, _)| announced.contains(&ptr::from_ref(*cell)));
    for (cell, kind) in &done {
        // SAFETY: it was in place when the cell died, and no call that began before is left.
        unsafe { object::drop_object(cell, *kind) };
    }
    let mut store = STORE.lock();
    store.dead.extend(used);
    for (cell, _) in done {
        cell.clear();
        store.free.push_back(cell);
    }
}
