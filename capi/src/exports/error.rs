//! Descriptions of errors.

use core::ffi::c_char;

use crate::abi::*;
use crate::call;
use crate::guard_call;

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_strerror(
    value: DAT_RETURN,
    major_message: *mut *const c_char,
    minor_message: *mut *const c_char,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_call("dat_strerror", || unsafe {
        call::error::strerror(value, major_message, minor_message)
    })
}

#[unsafe(no_mangle)]
pub extern "C-unwind" fn dat_error_detail() -> *const c_char {
    call::error::detail()
}
