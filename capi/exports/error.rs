//! Words for errors.

use core::ffi::c_char;

use crate::abi::*;
use crate::call;
use crate::guard;

/// Gives the words for a return value (dat_strerror(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dat_strerror(
    value: DAT_RETURN,
    major_message: *mut *const c_char,
    minor_message: *mut *const c_char,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::error::strerror(value, major_message, minor_message) })
}

/// The words for the calling thread's last error: what was tried, on what, why it failed and what
/// to do about it. There are words, too, for the last event that it took, if that is a completion
/// that is no success, a connection that did not come about or broke, or an asynchronous error:
/// with the peer, the first failure of the endpoint, until its reset, and what the transport says of
/// that. Never NULL, empty if there was no error yet; valid until the thread's next call.
#[unsafe(no_mangle)]
pub extern "C" fn dat_error_detail() -> *const c_char {
    call::error::detail()
}
