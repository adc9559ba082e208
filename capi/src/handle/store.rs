//! The allocation of cells, and the reclamation of freed objects.

use std::collections::VecDeque;
use std::ptr;
use std::sync::Arc;

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::{IdAllocator, ObjectKind};
use dat_sync::{ProcessLock, Rank};

use super::cell::{Cell, Phase};
use super::chunks::{self, Chunks};
use super::object::{self, Object};
use super::thread;
use crate::abi::{DAT_HANDLE, DAT_PROVIDER};

/// Number of freed objects that are reclaimed together: each check of the announcements makes all
/// threads execute a fence.
const BATCH: usize = 64;

/// In a child of `fork` the objects belong to its parent: a handler marks their cells, so that no lookup finds
/// them and posts are refused there too. In a process that was not forked, lookups do no work for this. The
/// child's other threads are gone, and the memory of cells is never freed.
static STORE: ProcessLock<Store> = ProcessLock::with_child(Rank::Handles, Store::new(), |_| {
    chunks::for_each(|cell| cell.leave_to_parent());
});

struct Store {
    chunks: Chunks,
    /// Cells without an object, in the order in which they were freed.
    free: VecDeque<&'static Cell>,
    /// Cells whose freed object has not been reclaimed.
    dead: Vec<(&'static Cell, ObjectKind)>,
}

impl Store {
    const fn new() -> Self {
        Self { chunks: Chunks::new(), free: VecDeque::new(), dead: Vec::new() }
    }
}

/// Gives the core's objects their ids: the addresses of cells.
pub(crate) fn id_allocator() -> Arc<dyn IdAllocator> {
    Arc::new(Cells)
}

struct Cells;

impl IdAllocator for Cells {
    fn allocate(&self, kind: ObjectKind) -> Result<u64> {
        let mut store = STORE.lock();
        if store.free.is_empty() {
            // Before the first handle.
            thread::start();
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
        // SAFETY: the cell was free, and no other thread knows it until this returns.
        unsafe { cell.free_storage() };
        Ok(ptr::from_ref(cell).expose_provenance() as u64)
    }

    fn release(&self, kind: ObjectKind, number: u64) {
        let Some(cell) = chunks::locate(number as usize) else { return };
        let mut store = STORE.lock();
        if cell.is(Phase::Reserved, kind) {
            // C never received this handle.
            cell.clear();
            store.free.push_back(cell);
        } else if cell.is(Phase::Live, kind) {
            cell.enter(Phase::Dead, kind);
            store.dead.push((cell, kind));
        }
    }
}

/// Stores an object in its cell, unless it is already there or was freed in the meantime; returns
/// its handle.
pub(crate) fn attach<T: Object>(object: T, table: *mut DAT_PROVIDER) -> DAT_HANDLE {
    let handle = super::of_number(object.number());
    let Some(cell) = chunks::locate(handle.addr()) else { return handle };
    let store = STORE.lock();
    // A live object owns its cell: the id is released only after the object has ended.
    if object.is_live() && cell.is(Phase::Reserved, T::KIND) {
        cell.set_provider(table);
        // SAFETY: the cell is reserved for this object, and the lock is held.
        unsafe { cell.fill(object) };
        cell.enter(Phase::Live, T::KIND);
    }
    drop(store);
    handle
}

/// Reclaims freed objects that no thread uses, if there are enough. This may drop objects, so the
/// caller must hold no lock.
pub(crate) fn reclaim() {
    if STORE.lock().dead.len() >= BATCH {
        reclaim_all();
    }
}

/// Reclaims all freed objects that no thread uses.
pub(crate) fn reclaim_all() {
    let batch = std::mem::take(&mut STORE.lock().dead);
    if batch.is_empty() {
        return;
    }
    let announced = thread::announced();
    let (used, done): (Vec<_>, Vec<_>) =
        batch.into_iter().partition(|(cell, _)| announced.contains(&ptr::from_ref(*cell)));
    for (cell, kind) in &done {
        // SAFETY: the object was in place when the cell became dead, and no call that began before
        // is left.
        unsafe { object::drop_object(cell, *kind) };
    }
    let mut store = STORE.lock();
    store.dead.extend(used);
    for (cell, _) in done {
        cell.clear();
        store.free.push_back(cell);
    }
}
