//! Identifiers, which listen, connect and accept.

use std::fmt;
use std::net::SocketAddr;
use std::ptr::{NonNull, null_mut};
use std::sync::{Arc, RwLockReadGuard};

use dat_sync::{Mutex, MutexGuard, RwLock};

use super::EventChannel;
use super::address::{CAddress, from_storage};
use super::event::{self, Event};
use super::queue_pair::Made;
use crate::sys::libraries;
use crate::sys::rdma_cma::{self as sys, rdma_cm_id};
use crate::verbs::{Context, Owner, field, key_to_pointer, library, pointer_to_key};
use crate::{Error, ErrorObject, Result};

/// The service of an identifier (rdma_create_id(3)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortSpace {
    /// Reliable connections, by port numbers of TCP.
    Tcp,
    /// Datagrams and multicast, by port numbers of UDP.
    Udp,
    /// Any service of InfiniBand.
    Ib,
}

impl PortSpace {
    pub(super) const fn value(self) -> u32 {
        match self {
            Self::Tcp => sys::RDMA_PS_TCP,
            Self::Udp => sys::RDMA_PS_UDP,
            Self::Ib => sys::RDMA_PS_IB,
        }
    }

    pub(super) const fn from_value(value: u32) -> Option<Self> {
        match value {
            sys::RDMA_PS_TCP => Some(Self::Tcp),
            sys::RDMA_PS_UDP => Some(Self::Udp),
            sys::RDMA_PS_IB => Some(Self::Ib),
            _ => None,
        }
    }
}

/// An identifier of the connection manager (rdma_create_id(3)), the RDMA counterpart of a socket.
///
/// With a channel its operations return at once, and their outcome is reported as an event. Without
/// a channel it is synchronous: an operation returns with its outcome, and the identifier keeps the
/// event until the next operation. A synchronous identifier takes no event between its operations;
/// to be notified when the peer ends the connection, [migrate](Self::migrate) it to a channel.
///
/// Handles are cheap to clone. The identifier is destroyed with the last of them and of the objects
/// that were created through it, in the order that librdmacm requires.
///
/// ```
/// use std::net::SocketAddr;
/// use std::time::Duration;
///
/// use rdma_verbs::cm::{CmId, CmQueuePairInit, ConnectParameters, PortSpace};
///
/// fn connect(to: SocketAddr, init: &CmQueuePairInit<'_>) -> rdma_verbs::Result<CmId> {
///     let id = CmId::new_synchronous(PortSpace::Tcp)?;
///     id.resolve_address(None, to, Duration::from_secs(2))?;
///     id.resolve_route(Duration::from_secs(2))?;
///     id.create_queue_pair(None, init)?;
///     id.connect(&ConnectParameters { private_data: b"version 1", ..Default::default() })?;
///     Ok(id)
/// }
/// ```
#[derive(Clone)]
pub struct CmId {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    raw: NonNull<rdma_cm_id>,
    /// The channel of an asynchronous identifier. Operations hold a read lock, so that none runs
    /// while it migrates.
    channel: RwLock<Option<Arc<EventChannel>>>,
    /// Held by an operation of a synchronous identifier, because operations share the event that it
    /// keeps.
    turn: Mutex<()>,
    /// The queue pair and the shared receive queue, and the objects that they use.
    pub(super) made: Mutex<Made>,
    /// For a request that is not answered: the listening identifier, whose destruction waits for
    /// the acknowledgement of the event that this one keeps.
    pub(super) listener: Mutex<Option<CmId>>,
    /// Held by threads that wait for completions of requests, and of receives.
    pub(super) waiting: [Mutex<()>; 2],
    /// True if it was created by rdma_create_ep, which has a destructor of its own.
    pub(super) is_endpoint: bool,
}

// SAFETY: the library's calls on an identifier are thread safe, and `turn` serialises those of a
// synchronous one.
unsafe impl Send for Inner {}
// SAFETY: the library's calls on an identifier are thread safe, and `turn` serialises those of a
// synchronous one.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        let raw = self.raw.as_ptr();
        let cm = library!(cm);
        for group in &self.made.get_mut().groups {
            let mut group = CAddress::new(*group);
            // SAFETY: the identifier is alive, and so are its queue pair and the address.
            let _ = unsafe { (cm.rdma_leave_multicast)(raw, group.as_ptr()) };
        }
        if self.is_endpoint {
            // SAFETY: it came from rdma_create_ep or from a request to such an identifier; it is
            // destroyed once, with its queue pair and shared receive queue, which have no handles
            // any more.
            unsafe { (cm.rdma_destroy_ep)(raw) };
            return;
        }
        // SAFETY: the identifier is alive.
        if !unsafe { (*raw).qp }.is_null() {
            // SAFETY: handles of the queue pair keep the identifier alive, so they are gone.
            unsafe { (cm.rdma_destroy_qp)(raw) };
        }
        if self.made.get_mut().has_shared() {
            // SAFETY: it was created with the identifier; its handles keep the identifier alive, so
            // they are gone, as is the queue pair that used it.
            unsafe { (cm.rdma_destroy_srq)(raw) };
        }
        // SAFETY: it is alive until here; its events are acknowledged when they are taken, so this
        // does not wait.
        if unsafe { (cm.rdma_destroy_id)(raw) } != 0 {
            if let Some(channel) = self.channel.get_mut().take() {
                channel.leak();
            }
        }
    }
}

/// An operation of an identifier: the identifier does not migrate during it, and a synchronous one
/// executes no other operation.
pub(super) struct Operation<'a> {
    _channel: RwLockReadGuard<'a, Option<Arc<EventChannel>>>,
    _turn: Option<MutexGuard<'a, ()>>,
}

impl CmId {
    /// Creates an asynchronous identifier, whose events arrive on the channel with the key.
    ///
    /// # Errors
    /// `ENOMEM`: no memory is left; `EACCES`: the process may not open `/dev/infiniband/rdma_cm`.
    pub fn new(channel: &Arc<EventChannel>, key: u64, space: PortSpace) -> Result<Self> {
        Self::create(Some(channel), key, space)
    }

    /// Creates a synchronous identifier.
    ///
    /// # Errors
    /// As [`new`](Self::new); `ELIBACC`: the libraries are not installed.
    pub fn new_synchronous(space: PortSpace) -> Result<Self> {
        libraries().map_err(|_| Error::not_loaded())?;
        Self::create(None, 0, space)
    }

    fn create(channel: Option<&Arc<EventChannel>>, key: u64, space: PortSpace) -> Result<Self> {
        const CALL: &str = "rdma_create_id";
        let mut raw = null_mut();
        let on = channel.map_or(null_mut(), |channel| channel.raw());
        // SAFETY: the channel, if there is one, is alive, and the pointer valid.
        let code = unsafe {
            (library!(cm).rdma_create_id)(on, &raw mut raw, key_to_pointer(key), space.value())
        };
        Error::check(CALL, code)?;
        Self::wrap(raw, channel, false, CALL)
    }

    /// Takes over the identifier of a request.
    ///
    /// # Safety
    /// It must be alive, belong to that channel, and have no other owner.
    pub(super) unsafe fn adopt(raw: *mut rdma_cm_id, channel: &Arc<EventChannel>) -> Self {
        // SAFETY: the caller guarantees a live identifier, which is not null.
        let raw = unsafe { NonNull::new_unchecked(raw) };
        Self::with(raw, Some(channel), false)
    }

    pub(super) fn wrap(
        raw: *mut rdma_cm_id,
        channel: Option<&Arc<EventChannel>>,
        is_endpoint: bool,
        call: &'static str,
    ) -> Result<Self> {
        let raw = NonNull::new(raw).ok_or(Error::new(call, libc::EPROTO))?;
        Ok(Self::with(raw, channel, is_endpoint))
    }

    fn with(
        raw: NonNull<rdma_cm_id>,
        channel: Option<&Arc<EventChannel>>,
        is_endpoint: bool,
    ) -> Self {
        let channel = RwLock::new(channel.cloned());
        let (turn, made, listener) = (Mutex::default(), Mutex::default(), Mutex::default());
        let waiting = Default::default();
        let inner = Inner { raw, channel, turn, made, listener, waiting, is_endpoint };
        Self { inner: Arc::new(inner) }
    }

    pub(super) fn raw(&self) -> *mut rdma_cm_id {
        self.inner.raw.as_ptr()
    }

    /// Keeps the identifier alive for objects that were created through it.
    pub(super) fn owner(&self) -> Owner {
        Arc::clone(&self.inner) as Owner
    }

    pub(super) fn operation(&self) -> Operation<'_> {
        let channel = self.inner.channel.read();
        let turn = channel.is_none().then(|| self.inner.turn.lock());
        Operation { _channel: channel, _turn: turn }
    }

    /// Converts the result of a call on the identifier.
    pub(super) fn check(&self, call: &'static str, code: i32) -> Result<()> {
        Error::check(call, code).map_err(|error| error.on(self.error_object()))
    }

    pub(super) fn refused(&self, call: &'static str, errno: i32) -> Error {
        Error::new(call, errno).on(self.error_object())
    }

    fn error_object(&self) -> ErrorObject {
        ErrorObject::Identifier(self.key())
    }

    /// Checks that the identifier is bound to a device, which some calls of the library require but
    /// do not check.
    pub(super) fn check_bound(&self, call: &'static str) -> Result<()> {
        if field!(self.raw(), verbs).is_null() {
            return Err(self.refused(call, libc::EINVAL));
        }
        Ok(())
    }

    /// The key that its events carry.
    #[must_use]
    pub fn key(&self) -> u64 {
        pointer_to_key(field!(self.raw(), context))
    }

    /// Changes the key that its events carry from now on.
    pub fn set_key(&self, key: u64) {
        // SAFETY: the identifier is alive.
        let context = unsafe { &raw mut (*self.raw()).context };
        // SAFETY: the identifier is alive; the library only copies the field, and this crate reads
        // it with `field!`.
        unsafe { context.write_volatile(key_to_pointer(key)) };
    }

    /// Its service.
    #[must_use]
    pub fn port_space(&self) -> Option<PortSpace> {
        PortSpace::from_value(field!(self.raw(), ps))
    }

    /// The device to which it is bound; `None` before the call or event that reports the binding.
    #[must_use]
    pub fn context(&self) -> Option<Context> {
        let context = NonNull::new(field!(self.raw(), verbs))?;
        // SAFETY: the library keeps the device of an identifier open, and the context keeps the
        // identifier.
        Some(unsafe { Context::owned_by(context, self.owner()) })
    }

    /// The number of the device's port to which it is bound; 0 if it is not bound.
    #[must_use]
    pub fn port(&self) -> u8 {
        field!(self.raw(), port_num)
    }

    /// The local address (rdma_get_local_addr(3)); `None` if it has none yet, or not an IP address.
    #[must_use]
    pub fn local_address(&self) -> Option<SocketAddr> {
        from_storage(&field!(self.raw(), route.addr.src))
    }

    /// The peer's address (rdma_get_peer_addr(3)); `None` if it has none yet, or not an IP address.
    #[must_use]
    pub fn peer_address(&self) -> Option<SocketAddr> {
        from_storage(&field!(self.raw(), route.addr.dst))
    }

    /// The local port number (rdma_get_src_port(3)).
    #[must_use]
    pub fn local_port(&self) -> u16 {
        // SAFETY: the identifier is alive.
        u16::from_be(unsafe { (library!(cm).rdma_get_src_port)(self.raw()) })
    }

    /// The peer's port number (rdma_get_dst_port(3)).
    #[must_use]
    pub fn peer_port(&self) -> u16 {
        // SAFETY: the identifier is alive.
        u16::from_be(unsafe { (library!(cm).rdma_get_dst_port)(self.raw()) })
    }

    /// Returns true if its operations block.
    #[must_use]
    pub fn is_synchronous(&self) -> bool {
        self.inner.channel.read().is_none()
    }

    /// The event of the last operation of a synchronous identifier, or of the request from which it
    /// came.
    #[must_use]
    pub fn last_event(&self) -> Option<Event> {
        let channel = self.inner.channel.read();
        if channel.is_some() {
            return None;
        }
        let _turn = self.inner.turn.lock();
        // SAFETY: the identifier is alive, and its event does not change during the turn.
        let kept = NonNull::new(unsafe { (*self.raw()).event })?;
        // SAFETY: the event is valid until it is acknowledged by the next operation.
        let kept = unsafe { kept.as_ref() };
        // SAFETY: the event has not been acknowledged; the turn keeps the next operation out.
        Some(unsafe { event::copy_kept(kept) })
    }

    /// Moves the identifier, with its events that were not taken, to another channel, or makes it
    /// synchronous (rdma_migrate_id(3)). Waits until the operations of other threads on it end.
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn migrate(&self, channel: Option<&Arc<EventChannel>>) -> Result<()> {
        let mut current = self.inner.channel.write();
        let to = channel.map_or(null_mut(), |channel| channel.raw());
        // SAFETY: the identifier and the channel, if there is one, are alive.
        let code = unsafe { (library!(cm).rdma_migrate_id)(self.raw(), to) };
        self.check("rdma_migrate_id", code)?;
        *current = channel.cloned();
        Ok(())
    }
}

impl fmt::Debug for CmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CmId")
            .field("key", &self.key())
            .field("local_address", &self.local_address())
            .field("peer_address", &self.peer_address())
            .finish_non_exhaustive()
    }
}
