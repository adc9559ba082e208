//! The cancel state and the cancel type of the calling thread (pthread_setcancelstate(3)).

use std::ffi::c_int;
use std::ptr;

const ENABLE: c_int = 0;
const DISABLE: c_int = 1;
const DEFERRED: c_int = 0;

unsafe extern "C-unwind" {
    // These functions act on a pending cancellation when they set the asynchronous type, or when
    // they enable cancellation while that type is set.
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
    fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int;
}

/// The caller's cancel state.
#[derive(Clone, Copy)]
pub(crate) struct HeldOff(c_int);

/// Disables cancellation.
#[inline(always)]
pub(crate) fn hold_off() -> HeldOff {
    let mut state = DISABLE;
    // SAFETY: the address is that of a local variable; disabling never acts on a cancellation.
    unsafe { pthread_setcancelstate(DISABLE, &raw mut state) };
    HeldOff(state)
}

impl HeldOff {
    /// The state, as a number of pthread_setcancelstate(3).
    pub(super) const fn number(self) -> c_int {
        self.0
    }

    /// Restores the state. A cancellation of the asynchronous type may act at once, so the frames
    /// above must be plain.
    #[inline(always)]
    pub(crate) fn resume(self) {
        if self.0 == ENABLE {
            // SAFETY: the value is one of the two valid states.
            unsafe { pthread_setcancelstate(ENABLE, ptr::null_mut()) };
        }
    }
}

/// The caller's cancel type.
#[derive(Clone, Copy)]
pub(super) struct Deferred(c_int);

/// Sets the deferred cancel type.
#[inline(always)]
pub(super) fn defer() -> Deferred {
    let mut kind = DEFERRED;
    // SAFETY: the address is that of a local variable; the deferred type never acts on a
    // cancellation.
    unsafe { pthread_setcanceltype(DEFERRED, &raw mut kind) };
    Deferred(kind)
}

impl Deferred {
    /// Restores the type, as [`HeldOff::resume`] restores the state.
    #[inline(always)]
    pub(super) fn resume(self) {
        if self.0 != DEFERRED {
            // SAFETY: the value is the type that the thread had before.
            unsafe { pthread_setcanceltype(self.0, ptr::null_mut()) };
        }
    }
}
