//! Descriptions of errors.

use core::ffi::c_char;

use crate::abi::*;
use crate::call;
use crate::guard;

/// Returns the names of a return value (dat_strerror(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_strerror(
    value: DAT_RETURN,
    major_message: *mut *const c_char,
    minor_message: *mut *const c_char,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::error::strerror(value, major_message, minor_message) })
}

/// Returns a description of the calling thread's last error: the call, the object, the cause and a
/// suggested fix. After a failed completion, a failed or broken connection, or an asynchronous error
/// has been dequeued, it describes that event, with the peer, the endpoint's first failure since its
/// last reset, and the transport's own error. Never NULL; the empty string if there has been no
/// error. The string is valid until this thread's next DAT call.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn dat_error_detail() -> *const c_char {
    call::error::detail()
}
