//! The calls for posts of data transfer operations.

use crate::abi::*;
use crate::call;
use crate::guard_data_path;

/// Posts a send (dat_ep_post_send(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_post_send(
    ep_handle: DAT_EP_HANDLE,
    num_segments: DAT_COUNT,
    local_iov: *mut DAT_LMR_TRIPLET,
    user_cookie: DAT_DTO_COOKIE,
    completion_flags: DAT_COMPLETION_FLAGS,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_data_path(|| unsafe {
        call::post::send(ep_handle, num_segments, local_iov, user_cookie, completion_flags)
    })
}

/// Posts a receive (dat_ep_post_recv(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_post_recv(
    ep_handle: DAT_EP_HANDLE,
    num_segments: DAT_COUNT,
    local_iov: *mut DAT_LMR_TRIPLET,
    user_cookie: DAT_DTO_COOKIE,
    completion_flags: DAT_COMPLETION_FLAGS,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_data_path(|| unsafe {
        call::post::recv(ep_handle, num_segments, local_iov, user_cookie, completion_flags)
    })
}

/// Posts an RDMA read (dat_ep_post_rdma_read(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_post_rdma_read(
    ep_handle: DAT_EP_HANDLE,
    num_segments: DAT_COUNT,
    local_iov: *mut DAT_LMR_TRIPLET,
    user_cookie: DAT_DTO_COOKIE,
    remote_iov: *const DAT_RMR_TRIPLET,
    completion_flags: DAT_COMPLETION_FLAGS,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_data_path(|| unsafe {
        call::post::rdma_read(
            ep_handle,
            num_segments,
            local_iov,
            user_cookie,
            remote_iov,
            completion_flags,
        )
    })
}

/// Posts an RDMA write (dat_ep_post_rdma_write(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_post_rdma_write(
    ep_handle: DAT_EP_HANDLE,
    num_segments: DAT_COUNT,
    local_iov: *mut DAT_LMR_TRIPLET,
    user_cookie: DAT_DTO_COOKIE,
    remote_iov: *const DAT_RMR_TRIPLET,
    completion_flags: DAT_COMPLETION_FLAGS,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_data_path(|| unsafe {
        call::post::rdma_write(
            ep_handle,
            num_segments,
            local_iov,
            user_cookie,
            remote_iov,
            completion_flags,
        )
    })
}
