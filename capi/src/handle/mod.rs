//! Handles: how C programs refer to objects of the core.
//!
//! A handle is the address of a [`Cell`]. Its first word is the address of the function table of
//! the provider, as the redirection macros of the DAT headers expect. Cells lie in chunks that are
//! never freed, so that any value can be looked up: a value that is not the address of a cell, or a
//! cell without a live object of the right kind, is not found. The addresses of cells are the ids
//! of the core's objects.
//!
//! A lookup costs no lock and no locked instruction: [`hazard`] explains how a freed object
//! outlives the calls that still use it. Freed cells are reused oldest first, so that a stale
//! handle is detected as long as possible.

mod c_storage;
mod cell;
mod chunks;
mod hazard;
#[cfg(all(test, loom))]
mod loom_models;
mod object;
mod stable_box;
mod store;
#[cfg(all(test, not(loom)))]
mod tests;
mod thread;

pub(crate) use c_storage::{Agent, CStorage, Region};
pub(crate) use object::{AnyObject, Object};
pub(crate) use stable_box::StableBox;
pub(crate) use store::{attach, id_allocator, reclaim, reclaim_all};

use std::ffi::c_void;
use std::marker::PhantomData;

use dat_core::ObjectKind;
use dat_core::error::{Error, Result, ReturnType, Subtype};

use crate::abi::DAT_HANDLE;
use cell::Cell;
use hazard::SlotPin;

/// The kind of the live object behind a handle.
#[inline]
pub(crate) fn kind_of(handle: DAT_HANDLE) -> Option<ObjectKind> {
    chunks::locate(handle.addr())?.live_kind()
}

/// Returns true if a value is the address of a cell, whatever its state.
#[inline]
pub(crate) fn is_cell(address: usize) -> bool {
    chunks::locate(address).is_some()
}

/// Passes the live object of a handle to a call that does not block.
#[inline]
pub(crate) fn with<T: Object, R>(handle: DAT_HANDLE, call: impl FnOnce(&T) -> R) -> Option<R> {
    let cell = chunks::locate(handle.addr())?;
    let _pin = thread::pin_anywhere(cell);
    if !cell.is_live(T::KIND) {
        return None;
    }
    // SAFETY: the object was live and of that kind when it was checked after the pin, so a thread
    // that frees it sees the pin and keeps the object.
    Some(call(unsafe { cell.object::<T>() }))
}

/// Pins the live object of a handle for a call that does not block. If the result is `None`,
/// [`with`] may still find it: for a thread without a hazard slot, or in a nested call.
#[inline(always)]
pub(crate) fn pin<T: Object>(handle: DAT_HANDLE) -> Option<Pinned<T>> {
    let cell = chunks::locate(handle.addr())?;
    let pin = thread::pin_in_slot(cell)?;
    if !cell.is_live(T::KIND) {
        return None;
    }
    Some(Pinned { cell, pin, object: PhantomData })
}

/// A live object, pinned by a call.
pub(crate) struct Pinned<T> {
    cell: &'static Cell,
    pin: SlotPin<Cell>,
    object: PhantomData<T>,
}

impl<T: Object> Pinned<T> {
    /// The object.
    #[inline(always)]
    pub(crate) fn object(&self) -> &T {
        // SAFETY: the object was live and of that kind when it was checked after the pin, so a
        // thread that frees it sees the pin and keeps the object.
        unsafe { self.cell.object::<T>() }
    }

    /// Loads the address of the cell again: after other calls that is cheaper than keeping it in
    /// a register.
    #[inline(always)]
    pub(crate) fn reload(self) -> Self {
        Self { cell: self.pin.cell(), ..self }
    }

    /// Records that this thread found nothing on the object; see [`take_found_empty`].
    #[inline(always)]
    pub(crate) fn found_empty(&self) {
        self.pin.found_empty(self.cell);
    }

    /// Its handle; the address of the cell is loaded again.
    #[inline(always)]
    pub(crate) fn reload_handle(&self) -> DAT_HANDLE {
        std::ptr::from_ref(self.pin.cell()).cast_mut().cast()
    }
}

/// As [`Pinned::found_empty`], for an object that is not pinned.
pub(crate) fn found_empty(handle: DAT_HANDLE) {
    thread::replace_found_empty(chunks::locate(handle.addr()));
}

/// The number of the object on which the last failure of this thread was that it found nothing. This
/// is kept in the hazard slot of the thread, because polls that find nothing are too frequent for
/// thread-local storage. The record is cleared.
pub(crate) fn take_found_empty() -> Option<u64> {
    thread::replace_found_empty(None).map(|cell| cell.addr() as u64)
}

/// A new reference to the live object of a handle, for calls that may block.
#[inline]
pub(crate) fn get<T: Object>(handle: DAT_HANDLE) -> Option<T> {
    with(handle, T::clone)
}

/// The object of a mandatory handle.
#[inline]
pub(crate) fn object<T: Object>(handle: DAT_HANDLE) -> Result<T> {
    object_as(handle, T::SUBTYPE)
}

/// As [`object()`], with the subtype of the error.
#[inline]
pub(crate) fn object_as<T: Object>(handle: DAT_HANDLE, subtype: Subtype) -> Result<T> {
    get(handle).ok_or_else(|| invalid_handle(handle, subtype))
}

/// The error for a handle that does not refer to a live object of its kind.
#[cold]
pub(crate) fn invalid_handle(handle: DAT_HANDLE, subtype: Subtype) -> Error {
    // In a child of `fork` the objects of inherited handles belong to its parent.
    match chunks::locate(handle.addr()).and_then(object::owner) {
        Some(owner) => Error::other_process(owner),
        None => Error::new(ReturnType::InvalidHandle, subtype),
    }
}

/// The object of a handle that may be `DAT_HANDLE_NULL`.
pub(crate) fn optional_object<T: Object>(
    handle: DAT_HANDLE,
    subtype: Subtype,
) -> Result<Option<T>> {
    if handle.is_null() { Ok(None) } else { object_as(handle, subtype).map(Some) }
}

/// The handle of an object of the core, by its id.
pub(crate) fn of_number(number: u64) -> DAT_HANDLE {
    std::ptr::with_exposed_provenance_mut::<c_void>(number as usize)
}

/// Accesses the memory whose address C received for a live object.
pub(crate) fn with_storage<R>(
    handle: DAT_HANDLE,
    work: impl FnOnce(&mut CStorage) -> R,
) -> Option<R> {
    let cell = chunks::locate(handle.addr())?;
    let _pin = thread::pin_anywhere(cell);
    cell.live_kind()?;
    // SAFETY: the object was live when it was checked after the cell was pinned.
    Some(work(&mut unsafe { cell.storage() }.lock()))
}

/// As [`with_storage`]; fails if another thread has freed the object.
pub(crate) fn storage_of<T: Object, R>(
    handle: DAT_HANDLE,
    work: impl FnOnce(&mut CStorage) -> R,
) -> Result<R> {
    with_storage(handle, work).ok_or_else(|| invalid_handle(handle, T::SUBTYPE))
}
