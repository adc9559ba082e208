//! The records of this process's threads, and the fences.
//!
//! Calls are frequent and frees are rare, so the free pays for both fences: membarrier(2) makes
//! every running thread execute one, and a call needs only a compiler fence. If the system has no
//! membarrier, calls execute a real fence.
//!
//! A thread that owns the hazard slot of its token finds its record by that token, which costs one
//! instruction; a thread-local variable in a shared library costs a function call.

use std::cell::Cell as ThreadCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence, fence};

use dat_sync::biased::{fence as barrier, token};

use super::cell::Cell;
use super::hazard::{Domain, Pin, Record, SlotPin};

#[cfg(not(all(test, loom)))]
static DOMAIN: Domain<Cell> = Domain::new();

#[cfg(all(test, loom))]
loom::lazy_static! {
    static ref DOMAIN: Domain<Cell> = Domain::new();
}

/// True if frees make the other threads execute a fence. Set before the first handle is issued.
static ASYMMETRIC: AtomicBool = AtomicBool::new(false);

thread_local! {
    static RECORD: ThreadCell<Option<&'static Record<Cell>>> = const { ThreadCell::new(None) };
    static RELEASE: ReleaseAtExit = const { ReleaseAtExit };
}

/// Releases the record when the thread ends, so that a later thread with the same token finds the
/// slot free.
struct ReleaseAtExit;

impl Drop for ReleaseAtExit {
    fn drop(&mut self) {
        if let Some(record) = RECORD.take() {
            record.release();
        }
    }
}

/// Pins a cell in the hazard slot of this thread, if the thread owns that slot and has nothing
/// pinned.
#[inline(always)]
pub(super) fn pin_in_slot(cell: &'static Cell) -> Option<SlotPin<Cell>> {
    let thread = token();
    // A thread owns a slot only if the asymmetric fence is in use, so a compiler fence is enough.
    SlotPin::new(DOMAIN.slot(thread), thread, cell, || compiler_fence(Ordering::SeqCst))
}

/// Pins a cell, if need be outside of the thread's hazard slot.
#[inline(always)]
pub(super) fn pin_anywhere(cell: &'static Cell) -> Pin<Cell> {
    let thread = token();
    let slot = DOMAIN.slot(thread);
    if slot.is_idle_of(thread) {
        return slot.announce(cell, || compiler_fence(Ordering::SeqCst));
    }
    pin_outside_slot(cell, thread)
}

#[cold]
#[inline(never)]
fn pin_outside_slot(cell: &'static Cell, thread: usize) -> Pin<Cell> {
    let record = match RECORD.get() {
        Some(record) => Some(record),
        // A terminating thread could not release a record.
        None if RELEASE.try_with(|_| ()).is_ok() => {
            let record = DOMAIN.claim(thread, ASYMMETRIC.load(Ordering::Relaxed));
            RECORD.set(Some(record));
            Some(record)
        }
        None => None,
    };
    match record.filter(|record| record.is_idle()) {
        Some(record) => record.announce(cell, light_fence),
        None => DOMAIN.announce(cell, light_fence),
    }
}

/// Records the cell on which this thread found nothing, or with `None` that something else failed since.
/// Returns the cell that was recorded before. A thread without a record has none.
pub(super) fn replace_found_empty(cell: Option<&'static Cell>) -> Option<*const Cell> {
    let thread = token();
    let slot = DOMAIN.slot(thread);
    let record = if slot.is_of(thread) { Some(slot) } else { RECORD.get() };
    let cell = cell.map_or(null_mut(), |cell| std::ptr::from_ref(cell).cast_mut());
    let former = record?.replace_found_empty(cell);
    (!former.is_null()).then_some(former.cast_const())
}

#[inline]
fn light_fence() {
    if ASYMMETRIC.load(Ordering::Relaxed) {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

/// All announcements of all threads.
pub(super) fn announced() -> Vec<*const Cell> {
    barrier::heavy();
    DOMAIN.announced()
}

/// Selects the kind of fence, before the first handle.
pub(super) fn start() {
    ASYMMETRIC.store(barrier::is_available(), Ordering::Relaxed);
}
