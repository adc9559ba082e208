//! The posts that only DAT 2.0 has.

use super::*;
use crate::call::post::{cookie, flags, on};
use crate::convert::memory::{Segments, remote, segments};

pub(crate) unsafe fn send_with_invalidate(
    ep_handle: DAT_EP_HANDLE,
    num_segments: DAT_COUNT,
    local_iov: *mut DAT_LMR_TRIPLET,
    user_cookie: DAT_DTO_COOKIE,
    completion_flags: DAT_COMPLETION_FLAGS,
    invalidate_flag: DAT_BOOLEAN,
    rmr_context: DAT_RMR_CONTEXT,
) -> CallResult {
    on(ep_handle, |ep| {
        let mut buffer = Segments::new();
        // SAFETY: the caller guarantees the given number of readable segments.
        let iov = unsafe { segments(num_segments, local_iov, &mut buffer) }?;
        let (cookie, flags) = (cookie(user_cookie), flags(completion_flags));
        match invalidate_flag {
            DAT_FALSE => ep.post_send(iov, cookie, flags),
            _ => ep.post_send_with_invalidate(iov, cookie, flags, rmr_context),
        }
    })
}

pub(crate) unsafe fn rdma_read_to_rmr(
    ep_handle: DAT_EP_HANDLE,
    local_iov: *const DAT_RMR_TRIPLET,
    user_cookie: DAT_DTO_COOKIE,
    remote_iov: *const DAT_RMR_TRIPLET,
    completion_flags: DAT_COMPLETION_FLAGS,
) -> CallResult {
    on(ep_handle, |ep| {
        // SAFETY: the caller guarantees a readable segment, unless the check rejects the address.
        let to = unsafe { remote(local_iov, 2) }?;
        // SAFETY: the caller guarantees a readable segment, unless the check rejects the address.
        let from = unsafe { remote(remote_iov, 4) }?;
        ep.post_rdma_read_to_rmr(to, cookie(user_cookie), from, flags(completion_flags))
    })
}
