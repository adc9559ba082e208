//! Posts on endpoints.
//!
//! Most posts are of one segment, on an endpoint that no foreign provider has: these are told from
//! all others by two comparisons, and go a way that has no room for more segments.

use std::slice;

use dat_core::error::{Result, Subtype};
use dat_core::{CompletionFlags, Endpoint, LmrTriplet};

use crate::abi::*;
use crate::answer::{Answer, Answered, DONE, failed, invalid_handle};
use crate::argument::is_address_of;
use crate::convert::memory::{Segments, local_from_c, remote, segments};
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
        // Apart, so that only the segment has to be in memory.
        let Self { ep, segment } = self;
        match post(ep.object(), slice::from_ref(&segment)) {
            Ok(()) => DAT_SUCCESS,
            Err(error) => failed(error),
        }
    }
}

/// The posts of the data path: how each is called here, in the core, and in the table of a foreign
/// provider, and what it has for memory of the peer's.
macro_rules! posts {
    ($($name:ident, $ours:ident, $foreign:ident $(, $remote_iov:ident)?;)+) => {$(
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
            unsafe fn ours(
                ep: &Endpoint,
                iov: &[LmrTriplet],
                user_cookie: DAT_DTO_COOKIE,
                $($remote_iov: *const DAT_RMR_TRIPLET,)?
                completion_flags: DAT_COMPLETION_FLAGS,
            ) -> Result<()> {
                // SAFETY: as the caller promises.
                $(let $remote_iov = unsafe { remote($remote_iov, 5) }?;)?
                ep.$ours(iov, cookie(user_cookie), $($remote_iov,)? flags(completion_flags))
            }

            #[cold]
            #[inline(never)]
            unsafe fn any(
                ep_handle: DAT_EP_HANDLE,
                num_segments: DAT_COUNT,
                local_iov: *mut DAT_LMR_TRIPLET,
                user_cookie: DAT_DTO_COOKIE,
                $($remote_iov: *const DAT_RMR_TRIPLET,)?
                completion_flags: DAT_COMPLETION_FLAGS,
            ) -> DAT_RETURN {
                foreign!(
                    ep_handle,
                    $foreign(
                        ep_handle,
                        num_segments,
                        local_iov,
                        user_cookie,
                        $($remote_iov,)?
                        completion_flags
                    )
                );
                on(ep_handle, |ep| {
                    let mut room = Segments::new();
                    // SAFETY: as the caller promises.
                    let iov = unsafe { segments(num_segments, local_iov, &mut room) }?;
                    // SAFETY: as the caller promises.
                    unsafe { ours(ep, iov, user_cookie, $($remote_iov,)? completion_flags) }
                })
                .code()
            }

            // SAFETY: as the caller promises.
            match unsafe { Single::new(ep_handle, num_segments, local_iov) } {
                // SAFETY: as the caller promises.
                Some(single) => single.post(|ep, iov| unsafe {
                    ours(ep, iov, user_cookie, $($remote_iov,)? completion_flags)
                }),
                // SAFETY: as the caller promises.
                None => unsafe {
                    any(
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
