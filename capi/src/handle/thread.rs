//! The records of this process's threads, and its fences.
//!
//! Calls are many and frees are few, so the free pays for both fences: membarrier(2) makes every
//! running thread pass one, and a call gets by with an order of the compiler's. Where the system
//! has no membarrier, calls fence themselves.
//!
//! A thread finds its record by its number, which costs one instruction, where it got the seat that
//! its number leads to; a thread-local variable of a shared library costs a call.

use std::cell::Cell as ThreadCell;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence, fence};

use dat_sync::biased::{fence as barrier, token};

use super::cell::Cell;
use super::hazard::{Domain, Pin, Record, Seated};

#[cfg(not(all(test, loom)))]
static DOMAIN: Domain<Cell> = Domain::new();

#[cfg(all(test, loom))]
loom::lazy_static! {
    static ref DOMAIN: Domain<Cell> = Domain::new();
}

/// Whether frees make the other threads pass a fence. Set before the first handle is issued.
static ASYMMETRIC: AtomicBool = AtomicBool::new(false);

thread_local! {
    static RECORD: ThreadCell<Option<&'static Record<Cell>>> = const { ThreadCell::new(None) };
    static RELEASE: Release = const { Release };
}

/// Gives the record back when the thread ends; one that comes later and has its number finds the
/// seat free.
struct Release;

impl Drop for Release {
    fn drop(&mut self) {
        if let Some(record) = RECORD.take() {
            record.leave();
        }
    }
}

/// Announces a cell, if this thread has a seat, and sits on it for nothing else.
#[inline(always)]
pub(super) fn seat(cell: &'static Cell) -> Option<Seated<Cell>> {
    let thread = token();
    // Who has a seat needs no more of a fence.
    Seated::new(DOMAIN.seat(thread), thread, cell, || compiler_fence(Ordering::SeqCst))
}

/// Announces a cell.
#[inline(always)]
pub(super) fn pin(cell: &'static Cell) -> Pin<Cell> {
    let thread = token();
    let seat = DOMAIN.seat(thread);
    if seat.is_idle_of(thread) {
        return seat.announce(cell, || compiler_fence(Ordering::SeqCst));
    }
    pin_elsewhere(cell, thread)
}

#[cold]
#[inline(never)]
fn pin_elsewhere(cell: &'static Cell, thread: usize) -> Pin<Cell> {
    let record = match RECORD.get() {
        Some(record) => Some(record),
        // At the end of a thread nobody would give a record back.
        None if RELEASE.try_with(|_| ()).is_ok() => {
            let record = DOMAIN.own(thread, ASYMMETRIC.load(Ordering::Relaxed));
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

#[inline]
fn light_fence() {
    if ASYMMETRIC.load(Ordering::Relaxed) {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

/// What all threads have announced.
pub(super) fn announced() -> Vec<*const Cell> {
    barrier::heavy();
    DOMAIN.announced()
}

/// Before the first handle: finds out which way to fence.
pub(super) fn start() {
    ASYMMETRIC.store(barrier::is_available(), Ordering::Relaxed);
}
