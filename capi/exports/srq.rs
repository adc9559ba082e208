//! The calls for shared receive queues.

use crate::abi::*;
use crate::call;
use crate::{guard, guard_data_path};

/// Creates a shared receive queue (dat_srq_create(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_srq_create(
    ia_handle: DAT_IA_HANDLE,
    pz_handle: DAT_PZ_HANDLE,
    srq_attr: *mut DAT_SRQ_ATTR,
    srq_handle: *mut DAT_SRQ_HANDLE,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::srq::create(ia_handle, pz_handle, srq_attr, srq_handle) })
}

/// Frees a shared receive queue (dat_srq_free(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_srq_free(srq_handle: DAT_SRQ_HANDLE) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::srq::free(srq_handle) })
}

/// Posts a receive to a shared receive queue (dat_srq_post_recv(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_srq_post_recv(
    srq_handle: DAT_SRQ_HANDLE,
    num_segments: DAT_COUNT,
    local_iov: *mut DAT_LMR_TRIPLET,
    user_cookie: DAT_DTO_COOKIE,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_data_path(|| unsafe {
        call::srq::post_recv(srq_handle, num_segments, local_iov, user_cookie)
    })
}

/// Returns the parameters of a shared receive queue (dat_srq_query(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_srq_query(
    srq_handle: DAT_SRQ_HANDLE,
    srq_param_mask: DAT_SRQ_PARAM_MASK,
    srq_param: *mut DAT_SRQ_PARAM,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::srq::query(srq_handle, srq_param_mask, srq_param) })
}

/// Resizes a shared receive queue (dat_srq_resize(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_srq_resize(
    srq_handle: DAT_SRQ_HANDLE,
    max_recv_dtos: DAT_COUNT,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::srq::resize(srq_handle, max_recv_dtos) })
}

/// Sets the low watermark of a shared receive queue (dat_srq_set_lw(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_srq_set_lw(
    srq_handle: DAT_SRQ_HANDLE,
    low_watermark: DAT_COUNT,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::srq::set_lw(srq_handle, low_watermark) })
}
