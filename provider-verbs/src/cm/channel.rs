//! Event channels.

use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use super::event::{self, Event};
use crate::sys::LoadFailure;
use crate::sys::rdma_cma::rdma_event_channel;
use crate::verbs::{Failure, Result, library};

/// A channel that tells of the events of its identifiers (rdma_create_event_channel(3)).
pub(crate) struct Channel {
    raw: NonNull<rdma_event_channel>,
}

// SAFETY: the library's calls on it are thread safe.
unsafe impl Send for Channel {}
// SAFETY: as for Send.
unsafe impl Sync for Channel {}

impl Channel {
    /// # Errors
    /// The libraries are not there; the kernel has no connection manager, or gives no access.
    pub(crate) fn new() -> std::result::Result<Result<Arc<Self>>, &'static LoadFailure> {
        let libraries = crate::sys::libraries()?;
        // SAFETY: it needs nothing.
        let raw = unsafe { (libraries.cm.rdma_create_event_channel)() };
        Ok(match NonNull::new(raw) {
            Some(raw) => Ok(Arc::new(Self { raw })),
            None => Err(Failure::last("rdma_create_event_channel")),
        })
    }

    pub(super) fn raw(&self) -> *mut rdma_event_channel {
        self.raw.as_ptr()
    }

    /// Takes an event, copies and acknowledges it at once (rdma_get_cm_event(3)). Blocks unless
    /// the descriptor was made non-blocking; then `EAGAIN` says that there is none.
    pub(crate) fn take_event(self: &Arc<Self>) -> Result<Event> {
        let mut raw = null_mut();
        // SAFETY: the channel is alive and the place valid.
        let code = unsafe { (library!(cm).rdma_get_cm_event)(self.raw(), &raw mut raw) };
        Failure::check("rdma_get_cm_event", code)?;
        let raw =
            NonNull::new(raw).ok_or(Failure { call: "rdma_get_cm_event", errno: libc::EPROTO })?;
        // SAFETY: the event is valid until it is acknowledged.
        let event = unsafe { raw.as_ref() };
        // SAFETY: its identifiers live until then as well: their destruction waits for it.
        let copy = unsafe { event::copy(event, self) };
        // SAFETY: it was taken and is acknowledged once.
        let code = unsafe { (library!(cm).rdma_ack_cm_event)(raw.as_ptr()) };
        Failure::check("rdma_ack_cm_event", code)?;
        Ok(copy)
    }

    /// Keeps the channel open for ever: an identifier of it could not be destroyed.
    pub(super) fn leak(self: Arc<Self>) {
        let _ = ManuallyDrop::new(self);
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel is alive.
        let fd = unsafe { (*self.raw()).fd };
        // SAFETY: the descriptor is open as long as the channel, which the borrow keeps.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: its identifiers keep it and so are gone, and its events are acknowledged as
        // they are taken; destroyed once.
        unsafe { (library!(cm).rdma_destroy_event_channel)(self.raw()) };
    }
}
