//! The detection of a shortage of memory.
//!
//! The allocator of the C libraries has a reserve for when the system refuses memory, and says here that it is
//! in use. Until it is full again, nothing begins that needs more memory: calls that create something fail,
//! and listeners refuse the requests of peers.
#![allow(unsafe_code, reason = "a function is stored as an address")]

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Refills a reserve; returns whether it is full.
#[derive(Debug)]
pub struct Refill(pub fn() -> bool);

/// How to refill the reserve that is in use; null if none is.
static PRESENT: AtomicPtr<Refill> = AtomicPtr::new(ptr::null_mut());

/// A reserve is in use.
pub fn begin(refill: &'static Refill) {
    // SeqCst: the order with the words of the reserve decides; see its `refill`.
    PRESENT.store(ptr::from_ref(refill).cast_mut(), Ordering::SeqCst);
}

/// No reserve is in use.
pub fn end() {
    PRESENT.store(ptr::null_mut(), Ordering::SeqCst);
}

/// Returns true if a reserve is in use and cannot be refilled now.
#[inline]
#[must_use]
pub fn persists() -> bool {
    // SAFETY: null, or the address of a value that lives as long as the process.
    let refill = unsafe { PRESENT.load(Ordering::SeqCst).as_ref() };
    refill.is_some_and(|Refill(refill)| !refill())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn a_shortage_persists_until_the_reserve_is_full() {
        static HAS_MEMORY: AtomicBool = AtomicBool::new(false);
        static REFILL: Refill = Refill(|| {
            let has_memory = HAS_MEMORY.load(Ordering::Relaxed);
            if has_memory {
                end();
            }
            has_memory
        });
        assert!(!persists());
        begin(&REFILL);
        assert!(persists() && persists());
        HAS_MEMORY.store(true, Ordering::Relaxed);
        assert!(!persists());
        HAS_MEMORY.store(false, Ordering::Relaxed);
        assert!(!persists(), "the shortage has ended");
    }
}
