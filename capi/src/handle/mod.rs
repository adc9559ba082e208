//! Handles: what C programs hold in place of the core's objects.
//!
//! A handle is the address of a [`Cell`], whose first word is the address of the provider's
//! function table, as the redirection macros of the DAT headers expect. Cells live in chunks that
//! are never given back, so that any value at all can be looked up: what is no address of a cell,
//! or a cell without a live object of the right kind, is not found. The core gets the addresses
//! of cells as the numbers of its objects.
//!
//! A look-up costs no lock and no locked instruction: [`hazard`] says how a freed object outlives
//! the calls that still use it. Freed cells are used again oldest first, so that a stale handle
//! is caught for as long as possible.

mod cell;
mod chunks;
mod hazard;
mod keep;
#[cfg(all(test, loom))]
mod loom_models;
mod object;
mod store;
mod sync;
#[cfg(test)]
mod tests;
mod thread;

pub(crate) use keep::{Agent, Kept, Lasting, Region};
pub(crate) use object::{AnyObject, Object};
pub(crate) use store::{attach, numbering, reclaim, reclaim_all};

use std::ffi::c_void;
use std::marker::PhantomData;

use dat_core::ObjectKind;

use crate::abi::DAT_HANDLE;
use cell::Cell;
use hazard::Seated;

/// The kind of the live object behind a handle.
#[inline]
pub(crate) fn kind_of(handle: DAT_HANDLE) -> Option<ObjectKind> {
    chunks::locate(handle.addr())?.live_kind()
}

/// Whether a value is the address of a cell, whatever is in it.
#[inline]
pub(crate) fn is_cell(address: usize) -> bool {
    chunks::locate(address).is_some()
}

/// Lends the live object behind a handle to a call that does not block.
#[inline]
pub(crate) fn with<T: Object, R>(handle: DAT_HANDLE, call: impl FnOnce(&T) -> R) -> Option<R> {
    let cell = chunks::locate(handle.addr())?;
    let _pin = thread::pin(cell);
    if !cell.is_live(T::KIND) {
        return None;
    }
    // SAFETY: it is live and of that kind, looked at after the cell was pinned: whoever frees it
    // sees the pin and leaves the object in place.
    Some(call(unsafe { cell.object::<T>() }))
}

/// The live object behind a handle, lent to a call that does not block. Where there is none,
/// [`with`] may still find it: for a thread without a seat, and a call inside a call.
#[inline(always)]
pub(crate) fn lend<T: Object>(handle: DAT_HANDLE) -> Option<Lent<T>> {
    let cell = chunks::locate(handle.addr())?;
    let pin = thread::seat(cell)?;
    if !cell.is_live(T::KIND) {
        return None;
    }
    Some(Lent { cell, pin, object: PhantomData })
}

/// A live object, lent to a call.
pub(crate) struct Lent<T> {
    cell: &'static Cell,
    pin: Seated<Cell>,
    object: PhantomData<T>,
}

impl<T: Object> Lent<T> {
    /// The object.
    #[inline(always)]
    pub(crate) fn object(&self) -> &T {
        // SAFETY: it is live and of that kind, looked at after the cell was pinned: whoever frees
        // it sees the pin and leaves the object in place.
        unsafe { self.cell.object::<T>() }
    }

    /// The same, looked up again: where other calls came between, that is less than to keep it.
    #[inline(always)]
    pub(crate) fn again(self) -> Self {
        Self { cell: self.pin.cell(), ..self }
    }

    /// Its handle, looked up again.
    #[inline(always)]
    pub(crate) fn handle_again(&self) -> DAT_HANDLE {
        std::ptr::from_ref(self.pin.cell()).cast_mut().cast()
    }
}

/// Another handle of the live object behind a handle, for calls that may block.
#[inline]
pub(crate) fn get<T: Object>(handle: DAT_HANDLE) -> Option<T> {
    with(handle, T::clone)
}

/// The handle of an object of the core's.
pub(crate) fn of_number(number: u64) -> DAT_HANDLE {
    std::ptr::with_exposed_provenance_mut::<c_void>(number as usize)
}

/// Works on what C was told about a live object by address.
pub(crate) fn keep<R>(handle: DAT_HANDLE, work: impl FnOnce(&mut Kept) -> R) -> Option<R> {
    let cell = chunks::locate(handle.addr())?;
    let _pin = thread::pin(cell);
    cell.live_kind()?;
    // SAFETY: live, looked at after the cell was pinned.
    Some(work(&mut unsafe { cell.keep() }.lock()))
}
