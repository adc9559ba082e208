//! Handles of C providers: addresses of their objects, whose first word is the address of a known
//! function table.
//!
//! A value that no call has seen before may be anything, so the kernel reads its first word. A
//! value found to be a handle is cached until its object is freed, so a post costs one access to a
//! slot and one to the object, which the provider accesses anyway.

use std::ptr::with_exposed_provenance;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{peek, tables};
use crate::abi::{DAT_HANDLE, DAT_IA_HANDLE, DAT_PROVIDER, DAT_SUCCESS};
use crate::adapters::{self, Adapter};
use crate::result::CallResult;
use crate::{argument, handle};

/// A cached handle, and the table of its object.
struct Slot {
    handle: AtomicUsize,
    table: AtomicUsize,
}

const SLOTS: usize = 1024;

/// Each handle can be in exactly one of the slots.
static FOUND: [Slot; SLOTS] =
    [const { Slot { handle: AtomicUsize::new(0), table: AtomicUsize::new(0) } }; SLOTS];

fn slot(handle: usize) -> &'static Slot {
    // Fibonacci hashing spreads objects of equal size that are adjacent in memory.
    let hash = (handle as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &FOUND[(hash >> (u64::BITS - SLOTS.ilog2())) as usize]
}

/// The table of the provider to which a C handle belongs.
#[inline]
pub(crate) fn table_of(handle: DAT_HANDLE) -> Option<&'static DAT_PROVIDER> {
    if !tables::any() {
        return None;
    }
    find(handle.addr())
}

// Not inlined: programs without C providers never call it.
#[inline(never)]
fn find(address: usize) -> Option<&'static DAT_PROVIDER> {
    if !argument::is_aligned_address::<usize>(address) || handle::is_cell(address) {
        return None;
    }
    let slot = slot(address);
    if slot.handle.load(Ordering::Acquire) == address {
        // SAFETY: the handle was found before and has not been freed since; the provider writes the
        // word once, before it returns the handle.
        let word = unsafe { with_exposed_provenance::<usize>(address).read() };
        // Another thread may have put another handle into the slot; then the tables may differ.
        if word == slot.table.load(Ordering::Relaxed) {
            // SAFETY: slots hold only known tables, and all slots are cleared when a table is
            // removed.
            return Some(unsafe { tables::at(word) });
        }
    }
    let word = peek::word(address).filter(|&word| tables::contains(word))?;
    slot.table.store(word, Ordering::Relaxed);
    slot.handle.store(address, Ordering::Release);
    // SAFETY: the table is known, and stays so while its provider has objects.
    Some(unsafe { tables::at(word) })
}

/// The table of a C adapter, and the address by which its provider knows it.
#[inline]
pub(crate) fn adapter(handle: DAT_IA_HANDLE) -> Option<(&'static DAT_PROVIDER, DAT_IA_HANDLE)> {
    if !tables::any() {
        return None;
    }
    find_adapter(handle)
}

#[inline(never)]
fn find_adapter(handle: DAT_IA_HANDLE) -> Option<(&'static DAT_PROVIDER, DAT_IA_HANDLE)> {
    let (_, Adapter::Foreign(address)) = adapters::find(handle)? else { return None };
    Some((find(address)?, handle::of_number(address as u64)))
}

/// Returns true if a call frees the object that it is made on, by its slot in the table.
pub(crate) const fn ends_object(slot: &str) -> bool {
    const ENDS: [&[u8]; 4] =
        [b"_free_func", b"cr_accept_func", b"cr_reject_func", b"cr_handoff_func"];
    let mut at = 0;
    while at < ENDS.len() {
        if ends_with(slot.as_bytes(), ENDS[at]) {
            return true;
        }
        at += 1;
    }
    false
}

const fn ends_with(text: &[u8], end: &[u8]) -> bool {
    if text.len() < end.len() {
        return false;
    }
    let mut at = 0;
    while at < end.len() {
        if text[text.len() - end.len() + at] != end[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Removes a handle if a call with this result has freed its object.
pub(crate) fn ended(handle: DAT_HANDLE, result: &CallResult) {
    if matches!(result, Ok(DAT_SUCCESS)) {
        let slot = slot(handle.addr());
        let _ =
            slot.handle.compare_exchange(handle.addr(), 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Removes all handles: objects were freed whose handles are not known.
pub(super) fn forget_all() {
    for slot in &FOUND {
        slot.handle.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::ends_object;

    #[test]
    fn calls_that_end_an_object_are_known_by_their_slot() {
        for slot in ["ep_free_func", "srq_free_func", "cr_accept_func", "cr_handoff_func"] {
            assert!(ends_object(slot), "{slot}");
        }
        for slot in ["ep_reset_func", "evd_dequeue_func", "ia_close_func", "free_func"] {
            assert!(!ends_object(slot), "{slot}");
        }
    }
}
