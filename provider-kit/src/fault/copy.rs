//! The copies.
#![allow(unsafe_code, reason = "memory is reached by address")]

use std::sync::atomic::{Ordering, fence};

use super::{Fault, machine};

/// Copies `length` bytes between ranges that may overlap.
///
/// # Errors
/// The first access that failed. Some bytes may have been copied.
///
/// # Safety
/// Both ranges must be live memory, `from` readable and `to` writable, or memory that the program has registered: the
/// program may have made that inaccessible, but must not reuse its addresses.
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8, length: usize) -> Result<(), Fault> {
    // SAFETY: as for this function.
    unsafe { machine::copy(from, to, length) }
}

/// As [`copy`], but stores the last bytes (8, or 4, or 1 of a shorter range) after all others. A program that polls the
/// last word of an RDMA write sees the whole write once that word has changed.
///
/// # Errors
/// As [`copy`].
///
/// # Safety
/// As for [`copy`].
#[inline(always)]
pub unsafe fn copy_in_order(from: *const u8, to: *mut u8, length: usize) -> Result<(), Fault> {
    // SAFETY: as for this function.
    unsafe { machine::copy_in_order(from, to, length) }
}

/// As [`copy_in_order`], with three copies.
///
/// # Errors
/// As [`copy`].
///
/// # Safety
/// As for [`copy`].
#[allow(dead_code, reason = "x86-64 does without")]
pub(super) unsafe fn copy_last_apart(
    from: *const u8,
    to: *mut u8,
    length: usize,
) -> Result<(), Fault> {
    let size = match length {
        0 => return Ok(()),
        1..=3 => 1,
        4..=7 => 4,
        8.. => 8,
    };
    let before = length - size;
    // The ranges may overlap, so the last bytes are read before any byte is stored.
    let mut last = [0_u8; 8];
    // SAFETY: the last bytes are a part of the source, and fit into `last`.
    unsafe { machine::copy(from.wrapping_add(before), last.as_mut_ptr(), size) }?;
    // SAFETY: both ranges are parts of those that the caller guarantees.
    unsafe { machine::copy(from, to, before) }?;
    // Pairs with the load of the program that polls the last word.
    fence(Ordering::Release);
    // SAFETY: the last bytes of the target are a part of it.
    unsafe { machine::copy(last.as_ptr(), to.wrapping_add(before), size) }
}

/// Adds to an aligned word atomically. Returns its previous value.
///
/// # Errors
/// The word is not accessible.
///
/// # Safety
/// As for [`copy`], for the eight bytes of the word.
pub(crate) unsafe fn fetch_add(word: *mut u64, add: u64) -> Result<u64, Fault> {
    // SAFETY: as for this function.
    unsafe { machine::fetch_add(word, add) }
}

/// Replaces an aligned word by `to` atomically if it is `from`. Returns its previous value.
///
/// # Errors
/// As [`fetch_add`].
///
/// # Safety
/// As for [`fetch_add`].
pub(crate) unsafe fn compare_swap(word: *mut u64, from: u64, to: u64) -> Result<u64, Fault> {
    // SAFETY: as for this function.
    unsafe { machine::compare_swap(word, from, to) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths around the limits between the ways to copy. Miri takes its time.
    fn lengths() -> impl Iterator<Item = usize> {
        let step = if cfg!(miri) { 61 } else { 1 };
        (0..300).step_by(step).chain([4095, 5000])
    }

    #[test]
    fn each_length_is_copied_also_between_ranges_that_overlap() {
        type Copy = unsafe fn(*const u8, *mut u8, usize) -> Result<(), Fault>;
        let pattern: Vec<u8> = (0..12_000).map(|at| (at % 251) as u8).collect();
        for copy in [copy as Copy, copy_in_order as Copy, copy_last_apart as Copy] {
            for length in lengths() {
                for shift in [-130_isize, -9, -1, 0, 1, 9, 130, 6000] {
                    let (mut bytes, mut expected) = (pattern.clone(), pattern.clone());
                    let to = 500_usize.wrapping_add_signed(shift);
                    expected.copy_within(500..500 + length, to);
                    let start = bytes.as_mut_ptr();
                    // SAFETY: both ranges are inside of the vector.
                    let copied =
                        unsafe { copy(start.wrapping_add(500), start.wrapping_add(to), length) };
                    assert_eq!(copied, Ok(()));
                    assert!(bytes == expected, "{length} bytes by {shift}");
                }
            }
        }
    }

    #[test]
    fn words_are_changed_atomically() {
        let mut word = 5_u64;
        let at = &raw mut word;
        // SAFETY: the word is aligned and live.
        assert_eq!(unsafe { fetch_add(at, 3) }, Ok(5));
        // SAFETY: as above.
        assert_eq!(unsafe { compare_swap(at, 7, 100) }, Ok(8));
        // SAFETY: as above.
        assert_eq!(unsafe { compare_swap(at, 8, 100) }, Ok(8));
        // SAFETY: as above.
        assert_eq!(unsafe { fetch_add(at, u64::MAX) }, Ok(100));
        assert_eq!(word, 99);
    }
}

#[cfg(all(
    test,
    target_os = "linux",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(miri)
))]
mod fault_tests {
    use super::*;
    use crate::fault::handler;

    /// Two pages, of which the second one is not accessible.
    fn half_accessible(page: usize) -> *mut u8 {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, at an address of the system's choice.
        let pages = unsafe { libc::mmap(std::ptr::null_mut(), 2 * page, protection, flags, -1, 0) };
        assert_ne!(pages, libc::MAP_FAILED);
        // SAFETY: the page was mapped above, and nothing refers to it.
        let is_protected =
            unsafe { libc::mprotect(pages.wrapping_byte_add(page), page, libc::PROT_NONE) };
        assert_eq!(is_protected, 0);
        pages.cast()
    }

    #[test]
    fn memory_that_is_not_accessible_is_a_fault_at_its_address() {
        type Copy = unsafe fn(*const u8, *mut u8, usize) -> Result<(), Fault>;
        handler::install();
        // The largest page of these processors.
        let page = 1 << 16;
        let pages = half_accessible(page);
        let end = pages.wrapping_add(page);
        let mut other = vec![0_u8; 6000];
        let is_there = |fault: Fault| fault.is_in(end.addr() as u64, page as u64);
        for copy in [copy as Copy, copy_in_order as Copy, copy_last_apart as Copy] {
            for length in (1..300).chain([4095, 5000]) {
                for inside in [0, 1, 7, 8, 31, 200, length - 1, length] {
                    let at = end.wrapping_sub(inside.min(length));
                    let (from, to) = (other.as_ptr(), other.as_mut_ptr());
                    // SAFETY: the handler is installed, and all of the range is mapped, though not accessible.
                    let read = unsafe { copy(at, to, length) };
                    // SAFETY: as above.
                    let written = unsafe { copy(from, at, length) };
                    let results = [read, written];
                    for result in results {
                        let is_right = if inside >= length {
                            result == Ok(())
                        } else {
                            result.is_err_and(is_there)
                        };
                        assert!(
                            is_right,
                            "{length} bytes, of which {inside} are accessible: {result:?}"
                        );
                    }
                }
            }
        }
        let word = end.cast();
        // SAFETY: as above.
        let added = unsafe { fetch_add(word, 1) };
        // SAFETY: as above.
        let swapped = unsafe { compare_swap(word, 0, 1) };
        let results = [added, swapped];
        assert!(results.into_iter().all(|result| result.is_err_and(is_there)), "{results:?}");
        // SAFETY: the pages were mapped by this test, which does not use them any more.
        assert_eq!(unsafe { libc::munmap(pages.cast(), 2 * page) }, 0);
    }
}
