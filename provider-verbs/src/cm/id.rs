//! Identifiers: what listens, connects and accepts.

use std::net::SocketAddr;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::Channel;
use super::address::{CAddress, from_storage};
use crate::sys::rdma_cma::{self as sys, rdma_cm_id, rdma_conn_param};
use crate::sys::verbs::ibv_qp_attr;
use crate::verbs::{Context, Failure, Lent, Result, field, key_to_pointer, library};

/// What an identifier is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code, reason = "the provider uses IP addresses only"))]
pub(crate) enum PortSpace {
    /// Reliable connections, by TCP port numbers.
    Tcp,
    /// Datagrams, by UDP port numbers.
    Udp,
    /// Any service of InfiniBand, by its own numbers.
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
}

/// What a connection is asked for or accepted with (rdma_connect(3), rdma_accept(3)).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectParameters<'a> {
    pub(crate) private_data: &'a [u8],
    /// How many RDMA reads and atomics of the other side this one serves at a time.
    pub(crate) responder_resources: u8,
    /// How many it has outstanding itself.
    pub(crate) initiator_depth: u8,
    /// How often a request is sent again that nobody acknowledges, up to 7.
    pub(crate) retry_count: u8,
    /// How often a request is sent again for which there is no receive; 7 is for ever.
    pub(crate) receive_retry_count: u8,
    /// Of a queue pair that the identifier did not make: its number, and whether it takes its
    /// receives from a shared queue.
    pub(crate) queue_pair: Option<(u32, bool)>,
}

impl Default for ConnectParameters<'_> {
    fn default() -> Self {
        Self {
            private_data: &[],
            responder_resources: 1,
            initiator_depth: 1,
            retry_count: 7,
            receive_retry_count: 7,
            queue_pair: None,
        }
    }
}

impl ConnectParameters<'_> {
    fn to_c(self) -> rdma_conn_param {
        let (qp_num, shared) = self.queue_pair.unwrap_or_default();
        rdma_conn_param {
            private_data: self.private_data.as_ptr().cast(),
            private_data_len: u8::try_from(self.private_data.len()).unwrap_or(u8::MAX),
            responder_resources: self.responder_resources,
            initiator_depth: self.initiator_depth,
            flow_control: 1,
            retry_count: self.retry_count,
            rnr_retry_count: self.receive_retry_count,
            srq: u8::from(shared),
            qp_num,
        }
    }
}

/// An identifier (rdma_create_id(3)). With a channel its operations begin and their outcome
/// comes as an event; without one they block until their event came, which the identifier then
/// keeps until its next operation.
#[derive(Clone)]
pub(crate) struct Id {
    inner: Arc<Inner>,
}

pub(super) struct Inner {
    raw: NonNull<rdma_cm_id>,
    /// The channel of an asynchronous identifier.
    pub(super) channel: Mutex<Option<Arc<Channel>>>,
    /// Whose turn it is on a synchronous one: its operations exchange the event that it keeps.
    turn: Mutex<()>,
    /// What its queue pair was made from, and so has to outlive it.
    kept: Mutex<Vec<Lent>>,
    /// Made by rdma_create_ep, which has its own way to release.
    endpoint: bool,
}

// SAFETY: the library's calls on an identifier are thread safe; those of a synchronous one take
// turns.
unsafe impl Send for Inner {}
// SAFETY: as for Send.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        let raw = self.raw.as_ptr();
        let cm = library!(cm);
        if self.endpoint {
            // SAFETY: it came from rdma_create_ep or from such a one's requests; released once.
            unsafe { (cm.rdma_destroy_ep)(raw) };
            return;
        }
        // SAFETY: it is alive.
        if !unsafe { (*raw).qp }.is_null() {
            // SAFETY: whoever used its queue pair kept the identifier and so is gone.
            unsafe { (cm.rdma_destroy_qp)(raw) };
        }
        // SAFETY: alive until here; its events are acknowledged as they are taken, so this does
        // not wait for anybody.
        if unsafe { (cm.rdma_destroy_id)(raw) } != 0 {
            if let Some(channel) = self.channel.lock().take() {
                channel.leak();
            }
        }
    }
}

impl Id {
    /// An identifier whose events come on a channel under a key.
    pub(crate) fn new(channel: &Arc<Channel>, key: u64, space: PortSpace) -> Result<Self> {
        Self::create(Some(channel), key, space)
    }

    /// An identifier whose operations block.
    ///
    /// # Errors
    /// As the call, once the libraries are there; without them `ENOSYS`.
    pub(crate) fn new_synchronous(space: PortSpace) -> Result<Self> {
        if crate::sys::libraries().is_err() {
            return Err(Failure { call: "rdma_create_id", errno: libc::ENOSYS });
        }
        Self::create(None, 0, space)
    }

    fn create(channel: Option<&Arc<Channel>>, key: u64, space: PortSpace) -> Result<Self> {
        let mut raw = null_mut();
        let on = channel.map_or(null_mut(), |channel| channel.raw());
        // SAFETY: the channel, if there is one, is alive, and the place valid.
        let code = unsafe {
            (library!(cm).rdma_create_id)(on, &raw mut raw, key_to_pointer(key), space.value())
        };
        Failure::check("rdma_create_id", code)?;
        Self::wrap(raw, channel, false, "rdma_create_id")
    }

    /// An identifier that a request brought.
    ///
    /// # Safety
    /// It must be alive, of that channel, and nobody else's.
    pub(super) unsafe fn adopt(raw: *mut rdma_cm_id, channel: &Arc<Channel>) -> Self {
        // SAFETY: the caller answers for it.
        let raw = unsafe { NonNull::new_unchecked(raw) };
        Self::with(raw, Some(channel), false)
    }

    pub(super) fn wrap(
        raw: *mut rdma_cm_id,
        channel: Option<&Arc<Channel>>,
        endpoint: bool,
        call: &'static str,
    ) -> Result<Self> {
        let raw = NonNull::new(raw).ok_or(Failure { call, errno: libc::EPROTO })?;
        Ok(Self::with(raw, channel, endpoint))
    }

    fn with(raw: NonNull<rdma_cm_id>, channel: Option<&Arc<Channel>>, endpoint: bool) -> Self {
        let channel = Mutex::new(channel.cloned());
        let (turn, kept) = (Mutex::new(()), Mutex::new(Vec::new()));
        Self { inner: Arc::new(Inner { raw, channel, turn, kept, endpoint }) }
    }

    /// Keeps objects for as long as the identifier.
    pub(super) fn keep(&self, objects: Vec<Lent>) {
        self.inner.kept.lock().extend(objects);
    }

    pub(super) fn raw(&self) -> *mut rdma_cm_id {
        self.inner.raw.as_ptr()
    }

    pub(super) fn keeper(&self) -> &Arc<Inner> {
        &self.inner
    }

    pub(super) fn is_endpoint(&self) -> bool {
        self.inner.endpoint
    }

    /// The turn of an operation; asynchronous identifiers need none.
    pub(super) fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        self.inner.channel.lock().is_none().then(|| self.inner.turn.lock())
    }

    /// Gives the events of the identifier that come from now on that key.
    pub(crate) fn set_key(&self, key: u64) {
        // SAFETY: the identifier is alive.
        let place = unsafe { &raw mut (*self.raw()).context };
        // SAFETY: as above; the library only hands the word on. It is written before events
        // that the caller expects under the key can come.
        unsafe { place.write_volatile(key_to_pointer(key)) };
    }

    /// Binds to a local address, and so to a device unless it is a wildcard (rdma_bind_addr(3)).
    pub(crate) fn bind(&self, address: SocketAddr) -> Result<()> {
        let mut address = CAddress::new(address);
        let _turn = self.turn();
        // SAFETY: the identifier is alive and the address valid over the call.
        let code = unsafe { (library!(cm).rdma_bind_addr)(self.raw(), address.as_ptr()) };
        Failure::check("rdma_bind_addr", code)
    }

    /// Finds the device and the way to an address (rdma_resolve_addr(3)).
    pub(crate) fn resolve_address(
        &self,
        from: Option<SocketAddr>,
        to: SocketAddr,
        timeout: Duration,
    ) -> Result<()> {
        let mut from = from.map(CAddress::new);
        let mut to = CAddress::new(to);
        let source = from.as_mut().map_or(null_mut(), CAddress::as_ptr);
        let _turn = self.turn();
        // SAFETY: the identifier is alive and the addresses valid over the call.
        let code = unsafe {
            let call = library!(cm).rdma_resolve_addr;
            call(self.raw(), source, to.as_ptr(), milliseconds(timeout))
        };
        Failure::check("rdma_resolve_addr", code)
    }

    /// Finds the route to the address that was resolved (rdma_resolve_route(3)).
    pub(crate) fn resolve_route(&self, timeout: Duration) -> Result<()> {
        self.check_bound("rdma_resolve_route")?;
        let _turn = self.turn();
        // SAFETY: the identifier is alive.
        let code = unsafe { (library!(cm).rdma_resolve_route)(self.raw(), milliseconds(timeout)) };
        Failure::check("rdma_resolve_route", code)
    }

    /// Listens for requests; at most `backlog` of them wait (rdma_listen(3)).
    pub(crate) fn listen(&self, backlog: i32) -> Result<()> {
        let _turn = self.turn();
        // SAFETY: the identifier is alive.
        Failure::check("rdma_listen", unsafe { (library!(cm).rdma_listen)(self.raw(), backlog) })
    }

    /// Asks for a connection (rdma_connect(3)).
    pub(crate) fn connect(&self, parameters: &ConnectParameters<'_>) -> Result<()> {
        self.check_bound("rdma_connect")?;
        let mut parameters = parameters.to_c();
        let _turn = self.turn();
        // SAFETY: the identifier is alive; the library copies the private data.
        let code = unsafe { (library!(cm).rdma_connect)(self.raw(), &raw mut parameters) };
        Failure::check("rdma_connect", code)
    }

    /// Completes a connection whose response came, where the identifier has no queue pair of
    /// its own (rdma_establish(3)).
    pub(crate) fn establish(&self) -> Result<()> {
        // SAFETY: the identifier is alive.
        Failure::check("rdma_establish", unsafe { (library!(cm).rdma_establish)(self.raw()) })
    }

    /// Accepts a request (rdma_accept(3)).
    pub(crate) fn accept(&self, parameters: &ConnectParameters<'_>) -> Result<()> {
        self.check_bound("rdma_accept")?;
        let mut parameters = parameters.to_c();
        let _turn = self.turn();
        // SAFETY: as for connect.
        let code = unsafe { (library!(cm).rdma_accept)(self.raw(), &raw mut parameters) };
        Failure::check("rdma_accept", code)
    }

    /// Refuses a request (rdma_reject(3)).
    pub(crate) fn reject(&self, private_data: &[u8]) -> Result<()> {
        let length = u8::try_from(private_data.len()).unwrap_or(u8::MAX);
        let data = private_data.as_ptr().cast();
        let _turn = self.turn();
        // SAFETY: the identifier is alive; the library copies the data.
        let code = unsafe { (library!(cm).rdma_reject)(self.raw(), data, length) };
        Failure::check("rdma_reject", code)
    }

    /// Ends a connection, or answers its end (rdma_disconnect(3)).
    pub(crate) fn disconnect(&self) -> Result<()> {
        let _turn = self.turn();
        // SAFETY: the identifier is alive.
        Failure::check("rdma_disconnect", unsafe { (library!(cm).rdma_disconnect)(self.raw()) })
    }

    /// Tells of an event of the queue pair's that concerns the connection (rdma_notify(3)).
    pub(crate) fn notify(&self, event: u32) -> Result<()> {
        // SAFETY: the identifier is alive.
        Failure::check("rdma_notify", unsafe { (library!(cm).rdma_notify)(self.raw(), event) })
    }

    /// The attributes that bring a queue pair into that state, and which they are
    /// (rdma_init_qp_attr(3)).
    pub(crate) fn queue_pair_attributes(&self, state: u32) -> Result<(ibv_qp_attr, i32)> {
        let mut attributes = ibv_qp_attr { qp_state: state, ..ibv_qp_attr::default() };
        let mut mask = 0;
        // SAFETY: the identifier is alive and the places valid.
        let code = unsafe {
            (library!(cm).rdma_init_qp_attr)(self.raw(), &raw mut attributes, &raw mut mask)
        };
        Failure::check("rdma_init_qp_attr", code)?;
        Ok((attributes, mask))
    }

    /// The type of service of the packets that it sends (`RDMA_OPTION_ID_TOS`).
    pub(crate) fn set_type_of_service(&self, mut tos: u8) -> Result<()> {
        let value = (&raw mut tos).cast();
        // SAFETY: the identifier is alive and the value one byte, as the option has it.
        let code = unsafe {
            let call = library!(cm).rdma_set_option;
            call(self.raw(), sys::RDMA_OPTION_ID, sys::RDMA_OPTION_ID_TOS, value, 1)
        };
        Failure::check("rdma_set_option", code)
    }

    /// Some calls of the library take the binding to a device for granted.
    pub(super) fn check_bound(&self, call: &'static str) -> Result<()> {
        match self.context() {
            Some(_) => Ok(()),
            None => Err(Failure { call, errno: libc::EINVAL }),
        }
    }

    /// The device that it is bound to.
    pub(crate) fn context(&self) -> Option<Context> {
        // It is written before the event or return that tells of the binding.
        let context = field!(self.raw(), verbs);
        // SAFETY: the library keeps its devices open as long as the process.
        NonNull::new(context).map(|context| unsafe { Context::lent(context) })
    }

    /// The port of the device that it is bound to, or 0.
    pub(crate) fn port(&self) -> u8 {
        field!(self.raw(), port_num)
    }

    /// The other side's address (rdma_get_peer_addr(3)).
    pub(crate) fn peer_address(&self) -> Option<SocketAddr> {
        from_storage(&field!(self.raw(), route.addr.dst))
    }

    /// The local port number (rdma_get_src_port(3)).
    pub(crate) fn local_port(&self) -> u16 {
        // SAFETY: the identifier is alive.
        u16::from_be(unsafe { (library!(cm).rdma_get_src_port)(self.raw()) })
    }
}

fn milliseconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}
