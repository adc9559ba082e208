//! Prefetching.
#![allow(unsafe_code, reason = "the instruction is an intrinsic")]

/// Hints the processor to load a value into its cache. Has no other effect.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_address(std::ptr::from_ref(value).cast());
}

/// As [`prefetch`], for the cache line of an address, at which nothing need be.
#[inline(always)]
pub fn prefetch_address(address: *const u8) {
    // SAFETY: a prefetch cannot fault at any address.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
