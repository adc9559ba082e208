//! Descriptions of errors.

use std::ffi::c_char;

use super::*;
use crate::{last_error, strerror};

pub(crate) unsafe fn strerror(
    value: DAT_RETURN,
    major_message: *mut *const c_char,
    minor_message: *mut *const c_char,
) -> CallResult {
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let major = unsafe { out(major_message, 2) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let minor = unsafe { out(minor_message, 3) }?;
    let (major_text, minor_text) = strerror::names(value)
        .ok_or_else(|| invalid(1, format!("{value:#010x} is not a DAT_RETURN of this API")))?;
    major.write(major_text.as_ptr());
    minor.write(minor_text.as_ptr());
    OK
}

pub(crate) fn detail() -> *const c_char {
    last_error::text()
}
