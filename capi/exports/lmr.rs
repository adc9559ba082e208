//! The calls for local memory regions.

use crate::abi::*;
use crate::call;
use crate::{guard, guard_data_path};

/// Deregisters memory (dat_lmr_free(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_lmr_free(lmr_handle: DAT_LMR_HANDLE) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::lmr::free(lmr_handle) })
}

/// Makes local writes visible to remote reads (dat_lmr_sync_rdma_read(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_lmr_sync_rdma_read(
    ia_handle: DAT_IA_HANDLE,
    local_segments: *const DAT_LMR_TRIPLET,
    num_segments: DAT_VLEN,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_data_path(|| unsafe {
        call::lmr::sync_rdma_read(ia_handle, local_segments, num_segments)
    })
}

/// Makes remote writes visible to local reads (dat_lmr_sync_rdma_write(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_lmr_sync_rdma_write(
    ia_handle: DAT_IA_HANDLE,
    local_segments: *const DAT_LMR_TRIPLET,
    num_segments: DAT_VLEN,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_data_path(|| unsafe {
        call::lmr::sync_rdma_write(ia_handle, local_segments, num_segments)
    })
}

/// Returns the parameters of a local region (dat_lmr_query(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_lmr_query(
    lmr_handle: DAT_LMR_HANDLE,
    lmr_param_mask: DAT_LMR_PARAM_MASK,
    lmr_param: *mut DAT_LMR_PARAM,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::lmr::query(lmr_handle, lmr_param_mask, lmr_param) })
}
