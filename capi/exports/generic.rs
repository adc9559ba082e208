//! The calls for handles of any kind.

use crate::abi::*;
use crate::call;
use crate::guard;

/// Ties a word of the consumer's to an object (dat_set_consumer_context(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dat_set_consumer_context(
    handle: DAT_HANDLE,
    context: DAT_CONTEXT,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::generic::set_consumer_context(handle, context) })
}

/// Gives back the consumer's word of an object (dat_get_consumer_context(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dat_get_consumer_context(
    handle: DAT_HANDLE,
    context: *mut DAT_CONTEXT,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::generic::get_consumer_context(handle, context) })
}

/// Tells what kind of object a handle names (dat_get_handle_type(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dat_get_handle_type(
    handle: DAT_HANDLE,
    handle_type: *mut DAT_HANDLE_TYPE,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::generic::get_handle_type(handle, handle_type) })
}
