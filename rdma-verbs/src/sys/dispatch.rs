//! The inline functions of the header: calls through the operations of a context.
//!
//! All of them take live objects of the library and are as thread safe as the library: any thread
//! may call them on any object at any time.

use std::ffi::{c_int, c_uint};

use super::cancellation;
use super::verbs::{
    ibv_context, ibv_cq, ibv_mw, ibv_mw_bind, ibv_pd, ibv_qp, ibv_recv_wr, ibv_send_wr, ibv_srq,
    ibv_wc,
};

/// Calls an operation of the object's context, or returns the value for "not supported".
macro_rules! through {
    ($object:ident, $operation:ident, $missing:expr, $($argument:expr),*) => {{
        // SAFETY: the caller guarantees a live object, whose context lives at least as long.
        let context: *mut ibv_context = unsafe { (*$object).context };
        // SAFETY: a context is created with its operations and never changes them.
        match unsafe { (*context).ops.$operation } {
            // SAFETY: the caller guarantees the arguments.
            Some(call) => unsafe { call($($argument),*) },
            None => $missing,
        }
    }};
}

/// A function that takes completions (`ibv_poll_cq`) and returns their number, or a negative
/// number. The queue must be alive, and there must be memory for that number of completions.
pub type PollCq = unsafe extern "C" fn(*mut ibv_cq, c_int, *mut ibv_wc) -> c_int;

/// The function that polls queues of a context. Queues keep it, so that a poll need not look it up.
///
/// # Safety
/// The context must be open.
pub unsafe fn poll_cq(context: *mut ibv_context) -> PollCq {
    // SAFETY: a context is created with its operations and never changes them.
    unsafe { (*context).ops.poll_cq }.unwrap_or(no_poll)
}

/// The function for a context that has no such operation.
unsafe extern "C" fn no_poll(_cq: *mut ibv_cq, _count: c_int, _into: *mut ibv_wc) -> c_int {
    -libc::ENOSYS
}

/// `ibv_req_notify_cq`: 0 or an errno.
///
/// # Safety
/// The queue must be alive.
#[inline]
pub unsafe fn req_notify_cq(cq: *mut ibv_cq, solicited_only: c_int) -> c_int {
    // Many drivers make a system call here, which is a cancellation point.
    cancellation::disabled(|| through!(cq, req_notify_cq, libc::ENOSYS, cq, solicited_only))
}

/// A function that posts requests (`ibv_post_send`) and returns 0 or an errno. The queue pair must
/// be alive, and the list of requests well formed with all it points to.
pub type PostSend =
    unsafe extern "C" fn(*mut ibv_qp, *mut ibv_send_wr, *mut *mut ibv_send_wr) -> c_int;

/// A function that posts receives (`ibv_post_recv`), with the same rules as [`PostSend`].
pub type PostRecv =
    unsafe extern "C" fn(*mut ibv_qp, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int;

/// The functions that post on queue pairs of a device. Queue pairs keep them, so that a post need
/// not look them up.
#[derive(Clone, Copy)]
pub struct Posts {
    pub send: PostSend,
    pub recv: PostRecv,
}

impl Posts {
    /// Functions that return `ENOSYS` and access nothing.
    pub const NONE: Self = Self { send: no_send, recv: no_recv };

    /// The functions of a context. If posting a request is a system call, and so a cancellation
    /// point, the calling thread cannot be cancelled in it.
    ///
    /// # Safety
    /// The context must be open.
    pub unsafe fn of(context: *mut ibv_context, by_system_call: bool) -> Self {
        // SAFETY: a context is created with its operations and never changes them.
        let ops = unsafe { &(*context).ops };
        let (send, recv) = (ops.post_send, ops.post_recv);
        let send = if by_system_call { post_send_uncancelled } else { send.unwrap_or(no_send) };
        Self { send, recv: recv.unwrap_or(no_recv) }
    }
}

/// Posts requests, as [`PostSend`], with cancellation disabled.
unsafe extern "C" fn post_send_uncancelled(
    qp: *mut ibv_qp,
    request: *mut ibv_send_wr,
    bad: *mut *mut ibv_send_wr,
) -> c_int {
    cancellation::disabled(|| through!(qp, post_send, libc::ENOSYS, qp, request, bad))
}

/// The function for a context that has no such operation; it accesses nothing.
unsafe extern "C" fn no_send(
    _qp: *mut ibv_qp,
    _request: *mut ibv_send_wr,
    _bad: *mut *mut ibv_send_wr,
) -> c_int {
    libc::ENOSYS
}

/// The function for a context that has no such operation; it accesses nothing.
unsafe extern "C" fn no_recv(
    _qp: *mut ibv_qp,
    _receive: *mut ibv_recv_wr,
    _bad: *mut *mut ibv_recv_wr,
) -> c_int {
    libc::ENOSYS
}

/// `ibv_post_srq_recv`: 0 or an errno.
///
/// # Safety
/// As [`PostSend`], for a shared receive queue.
#[inline]
pub unsafe fn post_srq_recv(
    srq: *mut ibv_srq,
    receive: *mut ibv_recv_wr,
    bad: *mut *mut ibv_recv_wr,
) -> c_int {
    through!(srq, post_srq_recv, libc::ENOSYS, srq, receive, bad)
}

/// `ibv_alloc_mw`: a window, or null with errno set.
///
/// # Safety
/// The domain must be alive.
pub unsafe fn alloc_mw(pd: *mut ibv_pd, kind: c_uint) -> *mut ibv_mw {
    through!(pd, alloc_mw, no_window(), pd, kind)
}

/// The result for a context that has no windows.
fn no_window() -> *mut ibv_mw {
    nix::errno::Errno::EOPNOTSUPP.set();
    std::ptr::null_mut()
}

/// `ibv_dealloc_mw`: 0 or an errno.
///
/// # Safety
/// The window must be alive; after a success it is gone.
pub unsafe fn dealloc_mw(mw: *mut ibv_mw) -> c_int {
    through!(mw, dealloc_mw, libc::EOPNOTSUPP, mw)
}

/// `ibv_bind_mw` of a window of type 1: 0 or an errno. After a success the window has its new key.
///
/// # Safety
/// All objects must be alive and of one device, and the region must belong to the window's domain.
pub unsafe fn bind_mw(qp: *mut ibv_qp, mw: *mut ibv_mw, bind: *mut ibv_mw_bind) -> c_int {
    through!(mw, bind_mw, libc::EOPNOTSUPP, qp, mw, bind)
}

/// `ibv_inc_rkey`: the next key of a window of type 2, whose low eight bits the program chooses.
pub const fn inc_rkey(key: u32) -> u32 {
    (key & !0xff) | (key.wrapping_add(1) & 0xff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_key_of_a_window_differs_in_the_low_byte_only() {
        assert_eq!(inc_rkey(0x1200), 0x1201);
        assert_eq!(inc_rkey(0x12ff), 0x1200);
    }
}
