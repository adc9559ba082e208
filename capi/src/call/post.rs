//! Posts on endpoints.
//!
//! Most posts are of one segment, on an endpoint that no foreign provider has: these are told from
//! all others by two comparisons, and go a way that has no room for more.

use std::slice;

use dat_core::error::{Result, Subtype};
use dat_core::{CompletionFlags, Endpoint, LmrTriplet, RmrTriplet};

use crate::abi::*;
use crate::answer::{Answer, DONE, failed, invalid_handle};
use crate::argument::is_address_of;
use crate::convert::memory::{Segments, local_from_c, remote, segments};
use crate::{dialect, handle};

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

/// The endpoint and the segment of what most posts are.
struct Single {
    ep: handle::Lent<Endpoint>,
    segment: LmrTriplet,
}

impl Single {
    /// Those of a post, if it is one of these.
    ///
    /// # Safety
    /// The address is that of so many segments.
    #[inline(always)]
    unsafe fn new(
        ep_handle: DAT_EP_HANDLE,
        num_segments: DAT_COUNT,
        local_iov: *mut DAT_LMR_TRIPLET,
    ) -> Option<Self> {
        if num_segments != 1 || !is_address_of::<DAT_LMR_TRIPLET>(local_iov.addr()) {
            return None;
        }
        let ep = handle::lend(ep_handle)?;
        // SAFETY: as the caller promises.
        let segment = local_from_c(unsafe { &*local_iov });
        Some(Self { ep, segment })
    }

    #[inline(always)]
    fn post(self, post: impl FnOnce(&Endpoint, &[LmrTriplet]) -> Result<()>) -> DAT_RETURN {
        match post(self.ep.object(), slice::from_ref(&self.segment)) {
            Ok(()) => DAT_SUCCESS,
            Err(error) => failed(error),
        }
    }
}

/// Memory of the peer's, if the address can be that of a segment.
///
/// # Safety
/// Then it is.
#[inline(always)]
unsafe fn there(remote_iov: *const DAT_RMR_TRIPLET) -> Option<RmrTriplet> {
    is_address_of::<DAT_RMR_TRIPLET>(remote_iov.addr())
        // SAFETY: as the caller promises.
        .then(|| dialect::remote_from_c(unsafe { &*remote_iov }))
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
    // SAFETY: as the caller promises.
    if let Some(single) = unsafe { Single::new(ep_handle, num_segments, local_iov) } {
        return single
            .post(|ep, iov| ep.post_send(iov, cookie(user_cookie), flags(completion_flags)));
    }
    // SAFETY: as the caller promises.
    unsafe { send_any(ep_handle, num_segments, local_iov, user_cookie, completion_flags) }
}

#[cold]
#[inline(never)]
unsafe fn send_any(
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
    // SAFETY: as the caller promises.
    if let Some(single) = unsafe { Single::new(ep_handle, num_segments, local_iov) } {
        return single
            .post(|ep, iov| ep.post_recv(iov, cookie(user_cookie), flags(completion_flags)));
    }
    // SAFETY: as the caller promises.
    unsafe { recv_any(ep_handle, num_segments, local_iov, user_cookie, completion_flags) }
}

#[cold]
#[inline(never)]
unsafe fn recv_any(
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
    // SAFETY: as the caller promises.
    if let Some(there) = unsafe { there(remote_iov) } {
        // SAFETY: as the caller promises.
        if let Some(single) = unsafe { Single::new(ep_handle, num_segments, local_iov) } {
            return single.post(|ep, iov| {
                ep.post_rdma_read(iov, cookie(user_cookie), there, flags(completion_flags))
            });
        }
    }
    // SAFETY: as the caller promises.
    unsafe {
        rdma_read_any(ep_handle, num_segments, local_iov, user_cookie, remote_iov, completion_flags)
    }
}

#[cold]
#[inline(never)]
unsafe fn rdma_read_any(
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
    // SAFETY: as the caller promises.
    if let Some(there) = unsafe { there(remote_iov) } {
        // SAFETY: as the caller promises.
        if let Some(single) = unsafe { Single::new(ep_handle, num_segments, local_iov) } {
            return single.post(|ep, iov| {
                ep.post_rdma_write(iov, cookie(user_cookie), there, flags(completion_flags))
            });
        }
    }
    // SAFETY: as the caller promises.
    unsafe {
        rdma_write_any(
            ep_handle,
            num_segments,
            local_iov,
            user_cookie,
            remote_iov,
            completion_flags,
        )
    }
}

#[cold]
#[inline(never)]
unsafe fn rdma_write_any(
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
