//! The calls for remote memory regions.

use crate::abi::*;
use crate::call;
use crate::guard;

/// Creates a remote region (dat_rmr_create(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_rmr_create(
    pz_handle: DAT_PZ_HANDLE,
    rmr_handle: *mut DAT_RMR_HANDLE,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::rmr::create(pz_handle, rmr_handle) })
}

/// Returns the parameters of a remote region (dat_rmr_query(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_rmr_query(
    rmr_handle: DAT_RMR_HANDLE,
    rmr_param_mask: DAT_RMR_PARAM_MASK,
    rmr_param: *mut DAT_RMR_PARAM,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::rmr::query(rmr_handle, rmr_param_mask, rmr_param) })
}

/// Frees a remote region (dat_rmr_free(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_rmr_free(rmr_handle: DAT_RMR_HANDLE) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::rmr::free(rmr_handle) })
}
