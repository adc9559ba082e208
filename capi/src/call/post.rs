//! Posts on endpoints.

use dat_core::error::{Result, Subtype};
use dat_core::{CompletionFlags, Endpoint};

use crate::abi::*;
use crate::answer::{Answer, DONE, failed, invalid_handle};
use crate::convert::memory::{Segments, remote, segments};
use crate::handle;

/// Lends the endpoint to a post.
#[inline]
pub(crate) fn on(ep_handle: DAT_EP_HANDLE, post: impl FnOnce(&Endpoint) -> Result<()>) -> Answer {
    handle::with(ep_handle, post).ok_or_else(|| invalid_handle(Subtype::InvalidHandleEp))??;
    DONE
}

#[inline]
pub(crate) fn flags(bits: DAT_COMPLETION_FLAGS) -> CompletionFlags {
    CompletionFlags::from_bits_retain(bits)
}

#[inline]
pub(crate) fn cookie(cookie: DAT_DTO_COOKIE) -> u64 {
    // SAFETY: every member of the union has eight bytes, and any bits are a value.
    unsafe { cookie.as_64 }
}

/// As [`on`], for posts of the data path.
#[inline(always)]
fn code_on(ep_handle: DAT_EP_HANDLE, post: impl FnOnce(&Endpoint) -> Result<()>) -> DAT_RETURN {
    let posted = handle::with(ep_handle, |endpoint| match post(endpoint) {
        Ok(()) => DAT_SUCCESS,
        Err(error) => failed(error),
    });
    posted.unwrap_or_else(|| failed(invalid_handle(Subtype::InvalidHandleEp)))
}

#[inline(always)]
pub(crate) unsafe fn send(
    ep_handle: DAT_EP_HANDLE,
    num_segments: DAT_COUNT,
    local_iov: *mut DAT_LMR_TRIPLET,
    user_cookie: DAT_DTO_COOKIE,
    completion_flags: DAT_COMPLETION_FLAGS,
) -> DAT_RETURN {
    foreign!(
        ep_handle,
        ep_post_send_func(ep_handle, num_segments, local_iov, user_cookie, completion_flags)
    );
    code_on(ep_handle, |ep| {
        let mut room = Segments::new();
        // SAFETY: as the caller promises.
        let iov = unsafe { segments(num_segments, local_iov, &mut room) }?;
        ep.post_send(iov, cookie(user_cookie), flags(completion_flags))
    })
}

#[inline(always)]
pub(crate) unsafe fn recv(
    ep_handle: DAT_EP_HANDLE,
    num_segments: DAT_COUNT,
    local_iov: *mut DAT_LMR_TRIPLET,
    user_cookie: DAT_DTO_COOKIE,
    completion_flags: DAT_COMPLETION_FLAGS,
) -> DAT_RETURN {
    foreign!(
        ep_handle,
        ep_post_recv_func(ep_handle, num_segments, local_iov, user_cookie, completion_flags)
    );
    code_on(ep_handle, |ep| {
        let mut room = Segments::new();
        // SAFETY: as the caller promises.
        let iov = unsafe { segments(num_segments, local_iov, &mut room) }?;
        ep.post_recv(iov, cookie(user_cookie), flags(completion_flags))
    })
}

#[inline(always)]
pub(crate) unsafe fn rdma_read(
    ep_handle: DAT_EP_HANDLE,
    num_segments: DAT_COUNT,
    local_iov: *mut DAT_LMR_TRIPLET,
    user_cookie: DAT_DTO_COOKIE,
    remote_iov: *const DAT_RMR_TRIPLET,
    completion_flags: DAT_COMPLETION_FLAGS,
) -> DAT_RETURN {
    foreign!(
        ep_handle,
        ep_post_rdma_read_func(
            ep_handle,
            num_segments,
            local_iov,
            user_cookie,
            remote_iov,
            completion_flags
        )
    );
    code_on(ep_handle, |ep| {
        let mut room = Segments::new();
        // SAFETY: as the caller promises.
        let iov = unsafe { segments(num_segments, local_iov, &mut room) }?;
        // SAFETY: as the caller promises.
        let from = unsafe { remote(remote_iov, 5) }?;
        ep.post_rdma_read(iov, cookie(user_cookie), from, flags(completion_flags))
    })
}

#[inline(always)]
pub(crate) unsafe fn rdma_write(
    ep_handle: DAT_EP_HANDLE,
    num_segments: DAT_COUNT,
    local_iov: *mut DAT_LMR_TRIPLET,
    user_cookie: DAT_DTO_COOKIE,
    remote_iov: *const DAT_RMR_TRIPLET,
    completion_flags: DAT_COMPLETION_FLAGS,
) -> DAT_RETURN {
    foreign!(
        ep_handle,
        ep_post_rdma_write_func(
            ep_handle,
            num_segments,
            local_iov,
            user_cookie,
            remote_iov,
            completion_flags
        )
    );
    code_on(ep_handle, |ep| {
        let mut room = Segments::new();
        // SAFETY: as the caller promises.
        let iov = unsafe { segments(num_segments, local_iov, &mut room) }?;
        // SAFETY: as the caller promises.
        let to = unsafe { remote(remote_iov, 5) }?;
        ep.post_rdma_write(iov, cookie(user_cookie), to, flags(completion_flags))
    })
}
