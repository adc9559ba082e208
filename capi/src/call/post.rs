//! Posts on endpoints.
//!
//! Most posts have one segment, on an endpoint of a Rust provider. Two comparisons separate them
//! from all others; they take a fast path that has stack space for only one segment.

use std::slice;

use dat_core::{CompletionFlags, LmrTriplet};

use super::*;
use crate::argument::is_address;
use crate::convert::memory::{Segments, local_from_c, remote, segments};
use crate::result::{ReturnValue, failed};

/// Runs a post on the endpoint of a handle.
#[inline]
pub(crate) fn on(ep_handle: DAT_EP_HANDLE, post: impl FnOnce(&Ep) -> Result<()>) -> CallResult {
    handle::with(ep_handle, post)
        .ok_or_else(|| invalid_handle(ep_handle, Subtype::InvalidHandleEp))??;
    OK
}

#[inline]
pub(crate) fn flags(bits: DAT_COMPLETION_FLAGS) -> CompletionFlags {
    CompletionFlags::from_bits_retain(bits)
}

#[inline]
pub(crate) fn cookie(cookie: DAT_DTO_COOKIE) -> u64 {
    // SAFETY: every member of the union has eight bytes, and any bit pattern is valid.
    unsafe { cookie.as_64 }
}

/// The endpoint and the segment of a post on the fast path.
struct FastPath {
    ep: handle::Pinned<Ep>,
    segment: LmrTriplet,
}

impl FastPath {
    /// The parts of a post, if it can take the fast path.
    ///
    /// # Safety
    /// The address is that of `num_segments` readable segments.
    #[inline(always)]
    unsafe fn new(
        ep_handle: DAT_EP_HANDLE,
        num_segments: DAT_COUNT,
        local_iov: *mut DAT_LMR_TRIPLET,
    ) -> Option<Self> {
        if num_segments != 1 || !is_address(local_iov.addr()) {
            return None;
        }
        let ep = handle::pin(ep_handle)?;
        // SAFETY: the address was checked, and the caller guarantees a readable segment.
        let segment = local_from_c(unsafe { local_iov.read_unaligned() });
        Some(Self { ep, segment })
    }

    #[inline(always)]
    fn post(self, post: impl FnOnce(&Ep, &[LmrTriplet]) -> Result<()>) -> DAT_RETURN {
        // Moved apart, so that only the segment has to be in memory.
        let Self { ep, segment } = self;
        match post(ep.object(), slice::from_ref(&segment)) {
            Ok(()) => DAT_SUCCESS,
            Err(error) => refused(ep, error),
        }
    }
}

/// Reports the error of a post, and ends the pin of its endpoint.
#[cold]
#[inline(never)]
fn refused(_ep: handle::Pinned<Ep>, error: Error) -> DAT_RETURN {
    failed(error)
}

/// The posts of the data path: the name of each one here, in the core, and in the table of a C
/// provider, and the name of its remote segment if it has one.
macro_rules! posts {
    ($($name:ident, $in_core:ident, $slot:ident $(, $remote_iov:ident)?;)+) => {$(
        #[inline(always)]
        pub(crate) unsafe fn $name(
            ep_handle: DAT_EP_HANDLE,
            num_segments: DAT_COUNT,
            local_iov: *mut DAT_LMR_TRIPLET,
            user_cookie: DAT_DTO_COOKIE,
            $($remote_iov: *const DAT_RMR_TRIPLET,)?
            completion_flags: DAT_COMPLETION_FLAGS,
        ) -> DAT_RETURN {
            #[inline(always)]
            unsafe fn in_core(
                ep: &Ep,
                iov: &[LmrTriplet],
                user_cookie: DAT_DTO_COOKIE,
                $($remote_iov: *const DAT_RMR_TRIPLET,)?
                completion_flags: DAT_COMPLETION_FLAGS,
            ) -> Result<()> {
                // SAFETY: the caller guarantees a readable segment, unless the check rejects it.
                $(let $remote_iov = unsafe { remote($remote_iov, 5) }?;)?
                ep.$in_core(iov, cookie(user_cookie), $($remote_iov,)? flags(completion_flags))
            }

            #[cold]
            #[inline(never)]
            unsafe fn slow_path(
                ep_handle: DAT_EP_HANDLE,
                num_segments: DAT_COUNT,
                local_iov: *mut DAT_LMR_TRIPLET,
                user_cookie: DAT_DTO_COOKIE,
                $($remote_iov: *const DAT_RMR_TRIPLET,)?
                completion_flags: DAT_COMPLETION_FLAGS,
            ) -> DAT_RETURN {
                foreign!(
                    ep_handle,
                    $slot(
                        ep_handle,
                        num_segments,
                        local_iov,
                        user_cookie,
                        $($remote_iov,)?
                        completion_flags
                    )
                );
                on(ep_handle, |ep| {
                    let mut buffer = Segments::new();
                    // SAFETY: the caller guarantees the given number of readable segments.
                    let iov = unsafe { segments(num_segments, local_iov, &mut buffer) }?;
                    // SAFETY: the caller keeps the contract of the post for its segments.
                    unsafe { in_core(ep, iov, user_cookie, $($remote_iov,)? completion_flags) }
                })
                .code()
            }

            // SAFETY: the caller guarantees the given number of readable segments.
            match unsafe { FastPath::new(ep_handle, num_segments, local_iov) } {
                // SAFETY: the caller keeps the contract of the post for its segments.
                Some(fast_path) => fast_path.post(|ep, iov| unsafe {
                    in_core(ep, iov, user_cookie, $($remote_iov,)? completion_flags)
                }),
                // SAFETY: the caller keeps the contract of the post for its segments.
                None => unsafe {
                    slow_path(
                        ep_handle,
                        num_segments,
                        local_iov,
                        user_cookie,
                        $($remote_iov,)?
                        completion_flags,
                    )
                },
            }
        }
    )+};
}

posts! {
    send, post_send, ep_post_send_func;
    recv, post_recv, ep_post_recv_func;
    rdma_read, post_rdma_read, ep_post_rdma_read_func, remote_iov;
    rdma_write, post_rdma_write, ep_post_rdma_write_func, remote_iov;
}
