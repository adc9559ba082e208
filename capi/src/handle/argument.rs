//! Handles that C passes as arguments.

use dat_core::error::{Result, Subtype};

use super::Object;
use crate::abi::DAT_HANDLE;
use crate::result::invalid_handle;

/// The object of a mandatory handle.
#[inline]
pub(crate) fn object<T: Object>(handle: DAT_HANDLE, subtype: Subtype) -> Result<T> {
    super::get(handle).ok_or_else(|| invalid_handle(subtype))
}

/// The object of a handle that may be `DAT_HANDLE_NULL`.
pub(crate) fn optional_object<T: Object>(
    handle: DAT_HANDLE,
    subtype: Subtype,
) -> Result<Option<T>> {
    if handle.is_null() { Ok(None) } else { object(handle, subtype).map(Some) }
}
