//! The calls for connection requests.

use crate::abi::*;
use crate::call;
use crate::guard;

/// Returns the parameters of a connection request (dat_cr_query(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_cr_query(
    cr_handle: DAT_CR_HANDLE,
    cr_param_mask: DAT_CR_PARAM_MASK,
    cr_param: *mut DAT_CR_PARAM,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::cr::query(cr_handle, cr_param_mask, cr_param) })
}

/// Accepts a connection request (dat_cr_accept(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_cr_accept(
    cr_handle: DAT_CR_HANDLE,
    ep_handle: DAT_EP_HANDLE,
    private_data_size: DAT_COUNT,
    private_data: DAT_PVOID,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::cr::accept(cr_handle, ep_handle, private_data_size, private_data) })
}

/// Hands off a connection request to another connection qualifier (dat_cr_handoff(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_cr_handoff(
    cr_handle: DAT_CR_HANDLE,
    conn_qual: DAT_CONN_QUAL,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::cr::handoff(cr_handle, conn_qual) })
}
