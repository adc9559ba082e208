//! Posts without records, for programs that keep records of their own (see the module `verbs`).

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use super::shared_receive::{post_receive, receive};
use super::{Error, QueuePair, RawOperation, RawRequest, Result, Sge, WindowBind, WindowType};
use crate::sys::verbs::{self as sys, bind_mw_wr, ibv_mw_bind, ibv_mw_bind_info, ibv_send_wr};
use crate::sys::{cancellation, dispatch};

/// Posts without records.
impl QueuePair {
    /// As [`post_receive`](Self::post_receive), without a record. The device checks that the segments
    /// lie in registered memory.
    ///
    /// # Errors
    /// As [`post_receive`](Self::post_receive).
    #[inline(always)]
    pub fn post_receive_raw(&self, id: u64, segments: &[Sge]) -> Result<()> {
        post_receive(segments, |segments| {
            let mut receive = receive(id, segments);
            let mut bad = MaybeUninit::uninit();
            // SAFETY: the queue pair is alive and the receive well formed; the library copies the
            // segments and does not change them. It writes `bad`, which is never read.
            let code = unsafe { (self.posts.recv)(self.raw(), &raw mut receive, bad.as_mut_ptr()) };
            Error::check("ibv_post_recv", code)
        })
    }

    /// As [`post_send`](Self::post_send), without a record.
    ///
    /// # Errors
    /// As [`post_send`](Self::post_send), as far as the library checks it.
    ///
    /// # Safety
    /// The segments of an inline request must lie in memory that is readable during the call, and
    /// must not be longer than the queue pair supports inline. An address handle must belong to the
    /// queue pair's domain and live until the request completes.
    #[inline(always)]
    pub unsafe fn post_send_raw(&self, request: &RawRequest<'_>) -> Result<()> {
        let mut request = request.to_c();
        // SAFETY: the request is well formed and what it borrows lives over the call; the caller
        // guarantees the memory.
        unsafe { self.post_request(&mut request) }
    }

    /// # Safety
    /// The request must be well formed, with all that it points to.
    #[inline]
    unsafe fn post_request(&self, request: &mut ibv_send_wr) -> Result<()> {
        let mut bad = null_mut();
        // SAFETY: the queue pair is alive; the caller guarantees the request.
        let code = unsafe { (self.posts.send)(self.raw(), request, &raw mut bad) };
        Error::check("ibv_post_send", code)
    }

    /// Posts a bind. If it is a system call, and so a cancellation point, the calling thread cannot
    /// be cancelled in it.
    fn without_cancellation(&self, post: impl FnOnce() -> c_int) -> c_int {
        if self.posts_by_system_call { cancellation::disabled(post) } else { post() }
    }

    /// As [`bind_window`](Self::bind_window), without a record (ibv_bind_mw(3) for type 1,
    /// `IBV_WR_BIND_MW` for type 2). No other thread may bind the window at the same time.
    ///
    /// # Errors
    /// `EINVAL`: there is no region, or it is deregistered; `EPERM`: it belongs to another domain
    /// than the window, or the window to another device than the queue pair.
    pub fn bind_window_raw(&self, bind: &WindowBind<'_>) -> Result<u32> {
        const CALL: &str = "ibv_bind_mw";
        let invalid = Error::new(CALL, libc::EINVAL).on(self.error_object());
        let region = bind.region.ok_or(invalid)?;
        if region.domain() != bind.window.domain() || !bind.window.is_on_device_of(self.domain()) {
            return Err(Error::new(CALL, libc::EPERM).on(self.error_object()));
        }
        region.with(|region| self.post_bind_of(bind, region)).unwrap_or(Err(invalid))
    }

    fn post_bind_of(&self, bind: &WindowBind<'_>, region: *mut sys::ibv_mr) -> Result<u32> {
        let window = bind.window;
        let bind_info = ibv_mw_bind_info {
            mr: region,
            addr: bind.address,
            length: bind.length,
            mw_access_flags: bind.access,
        };
        match window.window_type() {
            WindowType::One => {
                let mut bind = ibv_mw_bind { wr_id: bind.id, send_flags: bind.flags, bind_info };
                // SAFETY: queue pair, window and region are alive; the region belongs to the
                // window's domain.
                let post = || unsafe { dispatch::bind_mw(self.raw(), window.raw(), &raw mut bind) };
                let code = self.without_cancellation(post);
                Error::check("ibv_bind_mw", code)?;
                Ok(window.key_raw())
            }
            WindowType::Two => {
                let key = bind.key;
                let mut request = RawRequest {
                    id: bind.id,
                    flags: bind.flags,
                    segments: &[],
                    operation: RawOperation::Send,
                }
                .to_c();
                request.opcode = sys::IBV_WR_BIND_MW;
                request.bind_mw = bind_mw_wr { mw: window.raw(), rkey: key, bind_info };
                // SAFETY: queue pair, window and region are alive, and the request is well formed.
                unsafe { self.post_request(&mut request) }?;
                Ok(key)
            }
        }
    }
}
