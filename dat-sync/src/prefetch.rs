//! Prefetching.
#![allow(unsafe_code, reason = "the instruction is an intrinsic")]

/// Hints the processor to load a value into its cache. Has no other effect.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    // SAFETY: a prefetch cannot fault at any address, and this one belongs to a live value.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
