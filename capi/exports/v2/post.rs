//! The calls for posts of data transfer operations, as DAT 2.0 has them.

use crate::abi::*;
use crate::call2;
use crate::guard_data_path;

/// Posts a send that invalidates a context of the peer (dat_ep_post_send_with_invalidate(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_post_send_with_invalidate(
    ep_handle: DAT_EP_HANDLE,
    num_segments: DAT_COUNT,
    local_iov: *mut DAT_LMR_TRIPLET,
    user_cookie: DAT_DTO_COOKIE,
    completion_flags: DAT_COMPLETION_FLAGS,
    invalidate_flag: DAT_BOOLEAN,
    rmr_context: DAT_RMR_CONTEXT,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_data_path(|| unsafe {
        call2::post::send_with_invalidate(
            ep_handle,
            num_segments,
            local_iov,
            user_cookie,
            completion_flags,
            invalidate_flag,
            rmr_context,
        )
    })
}

/// Posts an RDMA read into a bound remote region (dat_ep_post_rdma_read_to_rmr(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_post_rdma_read_to_rmr(
    ep_handle: DAT_EP_HANDLE,
    local_iov: *const DAT_RMR_TRIPLET,
    user_cookie: DAT_DTO_COOKIE,
    remote_iov: *const DAT_RMR_TRIPLET,
    completion_flags: DAT_COMPLETION_FLAGS,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_data_path(|| unsafe {
        call2::post::rdma_read_to_rmr(
            ep_handle,
            local_iov,
            user_cookie,
            remote_iov,
            completion_flags,
        )
    })
}
