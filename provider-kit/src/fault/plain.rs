//! Copies on platforms where faults are not recognized.
#![allow(unsafe_code, reason = "memory is reached by address")]

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use libc::{c_void, siginfo_t};

use super::Fault;

pub(super) use super::copy::copy_last_apart as copy_in_order;

/// As [`super::copy`].
#[inline(always)]
pub(super) unsafe fn copy(from: *const u8, to: *mut u8, length: usize) -> Result<(), Fault> {
    // SAFETY: as for this function; the ranges may overlap.
    unsafe { std::ptr::copy(from, to, length) };
    Ok(())
}

/// As [`super::fetch_add`].
pub(super) unsafe fn fetch_add(word: *mut u64, add: u64) -> Result<u64, Fault> {
    // SAFETY: as for this function.
    Ok(unsafe { AtomicU64::from_ptr(word) }.fetch_add(add, SeqCst))
}

/// As [`super::compare_swap`].
pub(super) unsafe fn compare_swap(word: *mut u64, from: u64, to: u64) -> Result<u64, Fault> {
    // SAFETY: as for this function.
    let word = unsafe { AtomicU64::from_ptr(word) };
    Ok(word.compare_exchange(from, to, SeqCst, SeqCst).unwrap_or_else(|before| before))
}

/// True if faults are recognized.
pub(super) const CAN_RECOVER: bool = false;

/// Never finds a copy that has faulted.
///
/// # Safety
/// None is needed.
pub(super) unsafe fn recover(_: &siginfo_t, _: *mut c_void) -> bool {
    false
}
