//! Event channels.

use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use dat_sync::Private;

use super::event::{self, Event};
use crate::sys::libraries;
use crate::sys::rdma_cma::rdma_event_channel;
use crate::verbs::{library, set_nonblocking};
use crate::{Error, Result};

/// A channel that reports the events of its identifiers (rdma_create_event_channel(3)).
///
/// ```
/// use rdma_verbs::cm::{CmId, ConnectParameters, EventChannel, EventKind, PortSpace};
///
/// fn serve(init: impl Fn(&CmId) -> rdma_verbs::Result<()>) -> rdma_verbs::Result<()> {
///     let channel = EventChannel::new()?;
///     let listener = CmId::new(&channel, 0, PortSpace::Tcp)?;
///     listener.bind("0.0.0.0:7471".parse().expect("an address"))?;
///     listener.listen(16)?;
///     loop {
///         let event = channel.take_event()?;
///         match event.kind {
///             EventKind::ConnectRequest => {
///                 let id = event.request.expect("a request has an identifier");
///                 init(&id)?; // creates its queue pair, and posts receives
///                 id.accept(&ConnectParameters::default())?;
///             }
///             EventKind::Disconnected => return Ok(()),
///             _ => event.outcome()?,
///         }
///     }
/// }
/// ```
#[derive(Debug)]
pub struct EventChannel {
    raw: Private<OpenChannel>,
}

/// The object of the library. A child of a fork does not keep its descriptor, on which the connections
/// depend.
#[derive(Debug)]
struct OpenChannel(NonNull<rdma_event_channel>);

// SAFETY: the library's calls on it are thread safe.
unsafe impl Send for OpenChannel {}
// SAFETY: the library's calls on it are thread safe.
unsafe impl Sync for OpenChannel {}

impl EventChannel {
    /// Opens a channel.
    ///
    /// # Errors
    /// `ELIBACC`: the libraries are not installed; `ENODEV`, `ENOENT`: the kernel has no
    /// connection manager; `EACCES`: the process may not open `/dev/infiniband/rdma_cm`.
    pub fn new() -> Result<Arc<Self>> {
        let libraries = libraries().map_err(|_| Error::not_loaded())?;
        let create = || {
            // SAFETY: the call has no preconditions.
            let raw = unsafe { (libraries.cm.rdma_create_event_channel)() };
            let raw = NonNull::new(raw).ok_or_else(|| Error::last("rdma_create_event_channel"))?;
            Ok(OpenChannel(raw))
        };
        Ok(Arc::new(Self { raw: Private::create(create)? }))
    }

    pub(super) fn raw(&self) -> *mut rdma_event_channel {
        self.raw.0.as_ptr()
    }

    /// Makes [`take_event`](Self::take_event) return at once, even without an event.
    ///
    /// # Errors
    /// The error of fcntl(2).
    pub fn set_nonblocking(&self) -> Result<()> {
        set_nonblocking(self)
    }

    /// Takes an event (rdma_get_cm_event(3)). It is copied and acknowledged at once, so that no
    /// thread that destroys an identifier waits for it. Blocks unless the descriptor is
    /// non-blocking.
    ///
    /// # Errors
    /// `EAGAIN`: the descriptor is non-blocking and there is no event.
    pub fn take_event(self: &Arc<Self>) -> Result<Event> {
        const CALL: &str = "rdma_get_cm_event";
        let mut raw = null_mut();
        // SAFETY: the channel is alive and the pointer valid.
        let code = unsafe { (library!(cm).rdma_get_cm_event)(self.raw(), &raw mut raw) };
        Error::check(CALL, code)?;
        let raw = NonNull::new(raw).ok_or(Error::new(CALL, libc::EPROTO))?;
        // SAFETY: the event is valid until it is acknowledged.
        let event = unsafe { raw.as_ref() };
        // SAFETY: the identifiers of an event live until it is acknowledged: their destruction
        // waits for that.
        let copy = unsafe { event::copy(event, self) };
        // SAFETY: the event was taken and is acknowledged once.
        let code = unsafe { (library!(cm).rdma_ack_cm_event)(raw.as_ptr()) };
        Error::check("rdma_ack_cm_event", code)?;
        Ok(copy)
    }

    /// Leaks the channel, because one of its identifiers could not be destroyed.
    pub(super) fn leak(self: Arc<Self>) {
        let _ = ManuallyDrop::new(self);
    }
}

impl AsFd for EventChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.as_fd()
    }
}

impl AsFd for OpenChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel is alive.
        let fd = unsafe { (*self.0.as_ptr()).fd };
        // SAFETY: the descriptor is open as long as the channel, which the borrow keeps.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }
}

impl Drop for OpenChannel {
    fn drop(&mut self) {
        // SAFETY: its identifiers keep it alive, so they are gone; its events are acknowledged when
        // they are taken; it is destroyed once.
        unsafe { (library!(cm).rdma_destroy_event_channel)(self.0.as_ptr()) };
    }
}
