//! The calls for reserved service points.

use crate::abi::*;
use crate::call;
use crate::guard;

/// Creates a reserved service point, which accepts one connection for a given endpoint (dat_rsp_create(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_rsp_create(
    ia_handle: DAT_IA_HANDLE,
    conn_qual: DAT_CONN_QUAL,
    ep_handle: DAT_EP_HANDLE,
    evd_handle: DAT_EVD_HANDLE,
    rsp_handle: *mut DAT_RSP_HANDLE,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::rsp::create(ia_handle, conn_qual, ep_handle, evd_handle, rsp_handle) })
}

/// Returns the parameters of a reserved service point (dat_rsp_query(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_rsp_query(
    rsp_handle: DAT_RSP_HANDLE,
    rsp_param_mask: DAT_RSP_PARAM_MASK,
    rsp_param: *mut DAT_RSP_PARAM,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::rsp::query(rsp_handle, rsp_param_mask, rsp_param) })
}

/// Frees a reserved service point (dat_rsp_free(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_rsp_free(rsp_handle: DAT_RSP_HANDLE) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::rsp::free(rsp_handle) })
}
