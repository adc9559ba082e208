//! The calls for handles of any kind.

use crate::abi::*;
use crate::call;
use crate::guard_data_path;

/// Sets the consumer context of an object (dat_set_consumer_context(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_set_consumer_context(
    handle: DAT_HANDLE,
    context: DAT_CONTEXT,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_data_path(|| unsafe { call::generic::set_consumer_context(handle, context) })
}

/// Returns the consumer context of an object (dat_get_consumer_context(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_get_consumer_context(
    handle: DAT_HANDLE,
    context: *mut DAT_CONTEXT,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_data_path(|| unsafe { call::generic::get_consumer_context(handle, context) })
}

/// Returns the kind of object that a handle refers to (dat_get_handle_type(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_get_handle_type(
    handle: DAT_HANDLE,
    handle_type: *mut DAT_HANDLE_TYPE,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_data_path(|| unsafe { call::generic::get_handle_type(handle, handle_type) })
}
