//! Binds of memory windows.

use std::ffi::c_int;
use std::sync::Arc;

use super::in_flight::{Posted, Uses};
use super::region::RegionUse;
use super::{
    Access, Error, MemoryRegion, MemoryWindow, Operation, QueuePair, Result, Segment, SendFlags,
    WindowType,
};
use crate::sys::verbs::{self as sys, bind_mw_wr, ibv_mw_bind, ibv_mw_bind_info};
use crate::sys::{cancellation, dispatch};

/// The bind of a window.
#[derive(Debug)]
pub struct WindowBind<'a> {
    /// The identifier that its completion returns.
    pub id: u64,
    /// How it is sent.
    pub flags: SendFlags,
    /// The window.
    pub window: &'a MemoryWindow,
    /// The region; some libraries require one even for an empty range.
    pub region: Option<&'a MemoryRegion>,
    /// The address of the first byte, in the region's addresses.
    pub address: u64,
    /// Number of bytes; 0 ends the binding.
    pub length: u64,
    /// A set of `IBV_ACCESS_…`.
    pub access: u32,
    /// The new key of a window of type 2.
    pub key: u32,
}

impl QueuePair {
    /// Posts the bind of a window to a range of a region, and returns the key with which the peer
    /// accesses it (ibv_bind_mw(3)). An empty range ends the binding. The region stays registered
    /// until the window is bound elsewhere or dropped.
    ///
    /// # Errors
    /// `EPERM`: the region belongs to another domain than the window, or the window to another
    /// device than the queue pair; `ENOTCONN`: the queue pair is not ready to send; `ENOMEM`: the
    /// send queue is full.
    pub fn bind_window(
        &self,
        id: u64,
        window: &Arc<MemoryWindow>,
        to: &Segment,
        access: Access,
        flags: SendFlags,
    ) -> Result<u32> {
        const CALL: &str = "ibv_bind_mw";
        self.check_can_send(CALL)?;
        let region = to.region();
        let binding = RegionUse::new(region, CALL)?;
        let uses = Uses { _window: Some(Arc::clone(window)), ..Uses::default() };
        let (mut key, mut before) = (0, None);
        self.records().sends.post(Posted { id, _uses: uses }, |id| {
            // Binds of the window through other queue pairs wait.
            let mut bound = window.bound();
            let bind = WindowBind {
                id,
                flags,
                window,
                region: Some(region),
                address: to.address(),
                length: to.len() as u64,
                access: access.bits(),
                key: window.take_key(),
            };
            key = self.bind_window_raw(&bind)?;
            before = bound.replace(binding);
            Ok(())
        })?;
        // Dropping the use of the region takes other locks.
        drop(before);
        Ok(key)
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
                let mut bind =
                    ibv_mw_bind { wr_id: bind.id, send_flags: bind.flags.bits(), bind_info };
                // SAFETY: queue pair, window and region are alive; the region belongs to the
                // window's domain.
                let post = || unsafe { dispatch::bind_mw(self.raw(), window.raw(), &raw mut bind) };
                let code = self.without_cancellation(post);
                Error::check("ibv_bind_mw", code)?;
                Ok(window.key_raw())
            }
            WindowType::Two => {
                let key = bind.key;
                let mut request = Operation::Send.to_c(bind.id, bind.flags.bits(), &[]);
                request.opcode = sys::IBV_WR_BIND_MW;
                request.bind_mw = bind_mw_wr { mw: window.raw(), rkey: key, bind_info };
                // SAFETY: queue pair, window and region are alive, and the request is well formed.
                unsafe { self.post_request(&mut request) }?;
                Ok(key)
            }
        }
    }
}
