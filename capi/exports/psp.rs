//! The calls for public service points.

use crate::abi::*;
use crate::call;
use crate::guard;

/// Creates a public service point on a connection qualifier (dat_psp_create(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_psp_create(
    ia_handle: DAT_IA_HANDLE,
    conn_qual: DAT_CONN_QUAL,
    evd_handle: DAT_EVD_HANDLE,
    psp_flags: DAT_PSP_FLAGS,
    psp_handle: *mut DAT_PSP_HANDLE,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::psp::create(ia_handle, conn_qual, evd_handle, psp_flags, psp_handle) })
}

/// Creates a public service point on a connection qualifier chosen by the provider (dat_psp_create_any(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_psp_create_any(
    ia_handle: DAT_IA_HANDLE,
    conn_qual: *mut DAT_CONN_QUAL,
    evd_handle: DAT_EVD_HANDLE,
    psp_flags: DAT_PSP_FLAGS,
    psp_handle: *mut DAT_PSP_HANDLE,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe {
        call::psp::create_any(ia_handle, conn_qual, evd_handle, psp_flags, psp_handle)
    })
}

/// Returns the parameters of a public service point (dat_psp_query(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_psp_query(
    psp_handle: DAT_PSP_HANDLE,
    psp_param_mask: DAT_PSP_PARAM_MASK,
    psp_param: *mut DAT_PSP_PARAM,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::psp::query(psp_handle, psp_param_mask, psp_param) })
}

/// Frees a public service point (dat_psp_free(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_psp_free(psp_handle: DAT_PSP_HANDLE) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::psp::free(psp_handle) })
}
