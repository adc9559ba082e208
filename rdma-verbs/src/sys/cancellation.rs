//! Calls that may sleep in the kernel, protected from the cancellation of threads (pthreads(7)).

use std::ffi::c_int;
use std::ptr::null_mut;

const CANCEL_DISABLE: c_int = 1;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// Makes a call during which `pthread_cancel` has no effect. Otherwise it could unwind a thread of
/// a C program that holds a lock of the device.
#[inline]
pub(crate) fn disabled<R>(call: impl FnOnce() -> R) -> R {
    let mut state = CANCEL_DISABLE;
    // SAFETY: the address is that of a variable; disabling cancellation never acts on a request.
    unsafe { pthread_setcancelstate(CANCEL_DISABLE, &raw mut state) };
    let result = call();
    if state != CANCEL_DISABLE {
        // SAFETY: the value was the state of this thread.
        unsafe { pthread_setcancelstate(state, null_mut()) };
    }
    result
}
