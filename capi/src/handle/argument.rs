//! Handles that C passes as arguments.

use dat_core::error::{Error, Result, ReturnType, Subtype};

use super::{Object, inherited};
use crate::abi::DAT_HANDLE;

/// The object of a mandatory handle.
#[inline]
pub(crate) fn object<T: Object>(handle: DAT_HANDLE) -> Result<T> {
    object_as(handle, T::SUBTYPE)
}

/// As [`object`], with the subtype of the error.
#[inline]
pub(crate) fn object_as<T: Object>(handle: DAT_HANDLE, subtype: Subtype) -> Result<T> {
    super::get(handle).ok_or_else(|| invalid_handle(handle, subtype))
}

/// The error for a handle that does not refer to a live object of its kind.
#[cold]
pub(crate) fn invalid_handle(handle: DAT_HANDLE, subtype: Subtype) -> Error {
    match inherited::owner(handle) {
        Some(owner) => Error::other_process(owner),
        None => Error::new(ReturnType::InvalidHandle, subtype),
    }
}

/// The object of a handle that may be `DAT_HANDLE_NULL`.
pub(crate) fn optional_object<T: Object>(
    handle: DAT_HANDLE,
    subtype: Subtype,
) -> Result<Option<T>> {
    if handle.is_null() { Ok(None) } else { object_as(handle, subtype).map(Some) }
}
