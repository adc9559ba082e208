//! Copies between addresses.
#![allow(unsafe_code, reason = "memory is reached by address")]

use std::sync::atomic::{Ordering, fence};

/// Copies `len` bytes between ranges that may overlap.
///
/// # Safety
/// Both ranges must be inside live memory: `from` readable, `to` writable.
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    if len.wrapping_sub(HALF) <= HALF {
        // SAFETY: the caller of `copy` guarantees both ranges, and `len` is from `HALF` to twice
        // `HALF`.
        return unsafe { copy_short(from, to, len) };
    }
    // SAFETY: the caller guarantees both ranges; overlap is allowed.
    unsafe { std::ptr::copy(from, to, len) };
}

/// As [`copy`], but stores the last bytes (8, or 4, or 1 of a shorter range) after all others. A program
/// that polls the last word of an RDMA write finds all of the write once that word has changed.
///
/// # Safety
/// As for [`copy`].
#[inline(always)]
pub unsafe fn copy_in_order(from: *const u8, to: *mut u8, len: usize) {
    if len.wrapping_sub(HALF) <= HALF {
        // SAFETY: the caller of `copy_in_order` guarantees both ranges, and `len` is from `HALF` to twice
        // `HALF`.
        return unsafe { copy_short(from, to, len) };
    }
    // SAFETY: the caller guarantees both ranges.
    unsafe { copy_other_in_order(from, to, len) };
}

/// As [`copy_in_order`], for the other lengths.
///
/// # Safety
/// As for [`copy`].
#[inline(never)]
unsafe fn copy_other_in_order(from: *const u8, to: *mut u8, len: usize) {
    match len {
        0 => {}
        1..=3 => {
            // SAFETY: the caller guarantees both ranges, and `len` is at least 1.
            unsafe { copy_then_last::<1>(from, to, len) }
        }
        4..=7 => {
            // SAFETY: the caller guarantees both ranges, and `len` is at least 4.
            unsafe { copy_then_last::<4>(from, to, len) }
        }
        8.. => {
            // SAFETY: the caller guarantees both ranges, and `len` is at least 8.
            unsafe { copy_then_last::<8>(from, to, len) }
        }
    }
}

/// Copies all bytes but the last `LAST`, and then those.
///
/// # Safety
/// As for [`copy`], and `len` is at least `LAST`.
#[inline(always)]
unsafe fn copy_then_last<const LAST: usize>(from: *const u8, to: *mut u8, len: usize) {
    let before = len - LAST;
    // The ranges may overlap, so the last bytes are read before any byte is stored.
    // SAFETY: the last `LAST` bytes of the source are readable.
    let last = unsafe { from.wrapping_add(before).cast::<[u8; LAST]>().read() };
    // SAFETY: both ranges are parts of those that the caller guarantees.
    unsafe { copy(from, to, before) };
    fence(Ordering::Release);
    // SAFETY: the last `LAST` bytes of the target are writable.
    unsafe { to.wrapping_add(before).cast::<[u8; LAST]>().write(last) };
}

/// What one register of the oldest supported processors holds.
#[cfg(target_arch = "x86_64")]
type Piece = std::arch::x86_64::__m128i;
#[cfg(not(target_arch = "x86_64"))]
type Piece = [u8; 16];

const PIECE: usize = size_of::<Piece>();
const HALF: usize = 2 * PIECE;

/// As [`copy_in_order`], for the first and the last `HALF` bytes, which may overlap; calls no function.
///
/// # Safety
/// As for [`copy`], and `len` is from `HALF` to twice `HALF`.
#[inline(always)]
unsafe fn copy_short(from: *const u8, to: *mut u8, len: usize) {
    let last = len - HALF;
    let places = [0, PIECE, last, last + PIECE];
    let pieces = places.map(|at| {
        // SAFETY: `at` plus the size of a piece is at most `len`, and the caller guarantees `len`
        // bytes.
        unsafe { from.wrapping_add(at).cast::<Piece>().read_unaligned() }
    });
    for (index, (at, piece)) in places.into_iter().zip(pieces).enumerate() {
        if index == places.len() - 1 {
            // For `copy_in_order`; costs nothing on x86.
            fence(Ordering::Release);
        }
        // SAFETY: `at` is in the range as for the read; all pieces were read before, so overlap is
        // harmless.
        unsafe { to.wrapping_add(at).cast::<Piece>().write_unaligned(piece) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_in_order_copies_each_length_and_between_ranges_that_overlap() {
        for length in 0..200 {
            for shift in [-9_isize, -1, 0, 1, 9, 300] {
                let mut bytes: Vec<u8> = (0..800).map(|at| (at % 251) as u8).collect();
                let mut expected = bytes.clone();
                let to = 200_usize.wrapping_add_signed(shift);
                expected.copy_within(200..200 + length, to);
                let start = bytes.as_mut_ptr();
                // SAFETY: both ranges are inside of the vector.
                unsafe { copy_in_order(start.wrapping_add(200), start.wrapping_add(to), length) };
                assert_eq!(bytes, expected, "{length} bytes by {shift}");
            }
        }
    }
}
