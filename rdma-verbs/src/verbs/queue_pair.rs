//! Queue pairs.

use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use super::batch::{self, SendOperations};
use super::in_flight::{InFlight, Order};
use super::{
    CompletionQueue, Error, ErrorObject, Gid, Owner, ProtectionDomain, Result, SharedReceiveQueue,
    key_to_pointer, library, object,
};
use crate::sys::dispatch::Posts;
use crate::sys::verbs::{self as sys, ibv_qp, ibv_qp_cap, ibv_qp_ex, ibv_qp_init_attr};

/// The transport service of a queue pair (`enum ibv_qp_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuePairType {
    /// A reliable connection (RC).
    Rc,
    /// An unreliable connection (UC): sends and writes may be lost.
    Uc,
    /// Datagrams (UD).
    Ud,
}

impl QueuePairType {
    pub(crate) const fn value(self) -> u32 {
        match self {
            Self::Rc => sys::IBV_QPT_RC,
            Self::Uc => sys::IBV_QPT_UC,
            Self::Ud => sys::IBV_QPT_UD,
        }
    }
}

/// The size of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Maximum number of requests in the send queue.
    pub max_send_wr: u32,
    /// Maximum number of receives in the receive queue.
    pub max_recv_wr: u32,
    /// Maximum number of segments of one request.
    pub max_send_sge: u32,
    /// Maximum number of segments of one receive.
    pub max_recv_sge: u32,
    /// Maximum number of bytes that can be copied into a request ([`RequestData::Inline`](super::RequestData)).
    pub max_inline_data: u32,
}

impl Capabilities {
    pub(crate) const fn to_c(self) -> ibv_qp_cap {
        ibv_qp_cap {
            max_send_wr: self.max_send_wr,
            max_recv_wr: self.max_recv_wr,
            max_send_sge: self.max_send_sge,
            max_recv_sge: self.max_recv_sge,
            max_inline_data: self.max_inline_data,
        }
    }

    pub(crate) const fn from_c(cap: &ibv_qp_cap) -> Self {
        Self {
            max_send_wr: cap.max_send_wr,
            max_recv_wr: cap.max_recv_wr,
            max_send_sge: cap.max_send_sge,
            max_recv_sge: cap.max_recv_sge,
            max_inline_data: cap.max_inline_data,
        }
    }
}

/// The parameters of a queue pair (ibv_create_qp(3)).
#[derive(Clone, Copy, Debug)]
pub struct QueuePairInit<'a> {
    /// The key by which asynchronous events name it.
    pub key: u64,
    /// The queue in which its requests complete.
    pub send_queue: &'a Arc<CompletionQueue>,
    /// The queue in which its receives complete.
    pub receive_queue: &'a Arc<CompletionQueue>,
    /// The shared queue from which it takes its receives, instead of a queue of its own.
    pub shared: Option<&'a Arc<SharedReceiveQueue>>,
    /// Its minimum size.
    pub capabilities: Capabilities,
    /// Its kind.
    pub queue_pair_type: QueuePairType,
}

impl QueuePairInit<'_> {
    /// Converts it to C; the result borrows the queues.
    pub(super) fn to_c(self) -> ibv_qp_init_attr {
        ibv_qp_init_attr {
            qp_context: key_to_pointer(self.key),
            send_cq: self.send_queue.raw(),
            recv_cq: self.receive_queue.raw(),
            srq: self.shared.map_or(null_mut(), |shared| shared.raw()),
            cap: self.capabilities.to_c(),
            qp_type: self.queue_pair_type.value(),
            sq_sig_all: 0,
        }
    }

    /// Checks that the queues belong to the domain's device. The library does not check this before
    /// it passes them to the domain's driver.
    pub(super) fn check_device(&self, call: &'static str, domain: &ProtectionDomain) -> Result<()> {
        let contexts = [self.send_queue.context(), self.receive_queue.context()];
        let shared = self.shared.map(|shared| shared.domain().context());
        let is_one = contexts.into_iter().chain(shared).all(|context| context == domain.context());
        if is_one { Ok(()) } else { Err(Error::new(call, libc::EINVAL)) }
    }
}

object! {
    /// A queue pair (ibv_create_qp(3)).
    ///
    /// ```
    /// use rdma_verbs::verbs::{QueuePair, ReceiveSide, SendSide, Service};
    ///
    /// /// Connects a queue pair on port 1 without the connection manager: the two sides have exchanged
    /// /// their addresses, numbers and packet numbers, for example over TCP.
    /// fn connect(queue_pair: &QueuePair, peer: &ReceiveSide, packet_number: u32) -> rdma_verbs::Result<()> {
    ///     queue_pair.to_init(1, 0, Service::Connected(Default::default()))?;
    ///     queue_pair.to_ready_to_receive(peer)?;
    ///     queue_pair.to_ready_to_send(&SendSide { packet_number, ..Default::default() })
    /// }
    /// ```
    QueuePair(ibv_qp) {
        number: u32,
        pub(super) extended: Option<NonNull<ibv_qp_ex>>,
        capabilities: Capabilities,
        queue_pair_type: QueuePairType,
        /// True if the kernel moves it through its states, as for iWARP: then the library does not
        /// know the state, and the kernel refuses what it does not allow.
        is_moved_by_kernel: bool,
        /// True if a request is posted by a system call.
        pub(super) posts_by_system_call: bool,
        pub(super) posts: Posts,
        domain: Arc<ProtectionDomain>,
        parts: Parts,
        owner: Option<Owner>,
    }
}

/// The objects that a queue pair uses, and the records of its posts.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) send_queue: Arc<CompletionQueue>,
    pub(crate) receive_queue: Arc<CompletionQueue>,
    pub(crate) shared: Option<Arc<SharedReceiveQueue>>,
    pub(crate) records: QueueRecords,
}

/// The records of the posts of a queue pair.
#[derive(Clone, Debug)]
pub(crate) struct QueueRecords {
    pub(crate) sends: Arc<InFlight>,
    pub(crate) receives: Arc<InFlight>,
}

impl Default for QueueRecords {
    fn default() -> Self {
        let new = || InFlight::new(Order::Posted);
        Self { sends: new(), receives: new() }
    }
}

impl Parts {
    /// Registers the records with the completion queues.
    fn register(&self) {
        self.send_queue.record(&self.records.sends);
        self.receive_queue.record(&self.records.receives);
        if let Some(shared) = &self.shared {
            self.receive_queue.record(shared.in_flight());
        }
    }
}

impl QueuePair {
    /// Creates a queue pair of at least that size, in the state reset.
    ///
    /// # Errors
    /// `EINVAL`: a queue belongs to another device than the domain; `EINVAL`, `ENOMEM`: the device
    /// does not support that size.
    pub fn new(domain: &Arc<ProtectionDomain>, init: &QueuePairInit<'_>) -> Result<Self> {
        const CALL: &str = "ibv_create_qp";
        init.check_device(CALL, domain)?;
        let mut attributes = init.to_c();
        // SAFETY: the domain and the queues are alive and of one device, and the attributes valid.
        let raw = unsafe { (library!(verbs).ibv_create_qp)(domain.raw(), &raw mut attributes) };
        let raw = NonNull::new(raw).ok_or_else(|| Error::last(CALL))?;
        Ok(Self::wrap(raw, None, &attributes.cap, domain, init))
    }

    /// Creates a queue pair that supports extended posts of those operations
    /// ([`start_batch`](Self::start_batch)).
    ///
    /// # Errors
    /// `EOPNOTSUPP`: the device does not support extended posts. Otherwise as [`new`](Self::new).
    pub fn new_extended(
        domain: &Arc<ProtectionDomain>,
        init: &QueuePairInit<'_>,
        operations: SendOperations,
    ) -> Result<Self> {
        let (raw, extended, size) = batch::create(domain, init, operations)?;
        Ok(Self::wrap(raw, Some(extended), &size, domain, init))
    }

    fn wrap(
        raw: NonNull<ibv_qp>,
        extended: Option<NonNull<ibv_qp_ex>>,
        size: &ibv_qp_cap,
        domain: &Arc<ProtectionDomain>,
        init: &QueuePairInit<'_>,
    ) -> Self {
        let parts = Parts {
            send_queue: Arc::clone(init.send_queue),
            receive_queue: Arc::clone(init.receive_queue),
            shared: init.shared.cloned(),
            records: QueueRecords::default(),
        };
        let (size, domain) = (Capabilities::from_c(size), Arc::clone(domain));
        // SAFETY: it was just created.
        unsafe { Self::assemble(raw, extended, size, init.queue_pair_type, domain, parts, None) }
    }

    /// Wraps a queue pair that belongs to another object, as do the records of its posts.
    ///
    /// # Safety
    /// It must live as long as its owner.
    pub(crate) unsafe fn owned_by(
        raw: NonNull<ibv_qp>,
        capabilities: Capabilities,
        queue_pair_type: QueuePairType,
        domain: Arc<ProtectionDomain>,
        parts: Parts,
        owner: Owner,
    ) -> Self {
        // SAFETY: the caller guarantees the queue pair.
        unsafe {
            Self::assemble(raw, None, capabilities, queue_pair_type, domain, parts, Some(owner))
        }
    }

    /// # Safety
    /// The queue pair must live as long as its owner; without one, it belongs to the result.
    unsafe fn assemble(
        raw: NonNull<ibv_qp>,
        extended: Option<NonNull<ibv_qp_ex>>,
        capabilities: Capabilities,
        queue_pair_type: QueuePairType,
        domain: Arc<ProtectionDomain>,
        parts: Parts,
        owner: Option<Owner>,
    ) -> Self {
        parts.register();
        let context = domain.context();
        Self {
            raw,
            // SAFETY: the caller guarantees a live queue pair, whose number never changes.
            number: unsafe { raw.as_ref() }.qp_num,
            extended,
            capabilities,
            queue_pair_type,
            is_moved_by_kernel: context.is_iwarp(),
            posts_by_system_call: context.posts_by_system_call(),
            posts: context.posts(),
            domain,
            parts,
            owner,
        }
    }

    /// Its number on the wire.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Its size, which may exceed the requested one.
    #[must_use]
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Its kind.
    #[must_use]
    pub fn queue_pair_type(&self) -> QueuePairType {
        self.queue_pair_type
    }

    /// The domain whose memory it can use.
    #[must_use]
    pub fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    /// The queue in which its requests complete.
    #[must_use]
    pub fn send_queue(&self) -> &Arc<CompletionQueue> {
        &self.parts.send_queue
    }

    /// The queue in which its receives complete.
    #[must_use]
    pub fn receive_queue(&self) -> &Arc<CompletionQueue> {
        &self.parts.receive_queue
    }

    /// The shared queue from which it takes its receives, if any.
    #[must_use]
    pub fn shared_receive_queue(&self) -> Option<&Arc<SharedReceiveQueue>> {
        self.parts.shared.as_ref()
    }

    /// Number of requests that are posted and whose completions were not taken.
    #[must_use]
    pub fn sends_in_flight(&self) -> usize {
        self.parts.records.sends.len()
    }

    /// Number of receives in its own queue that are posted and whose completions were not taken.
    #[must_use]
    pub fn receives_in_flight(&self) -> usize {
        self.parts.records.receives.len()
    }

    pub(super) fn records(&self) -> &QueueRecords {
        &self.parts.records
    }

    pub(super) fn error_object(&self) -> ErrorObject {
        ErrorObject::QueuePair(self.number)
    }

    pub(super) fn check_can_send(&self, call: &'static str) -> Result<()> {
        if self.is_moved_by_kernel || self.cached_state().can_send() {
            return Ok(());
        }
        Err(Error::new(call, libc::ENOTCONN).on(self.error_object()))
    }

    pub(super) fn can_receive(&self) -> bool {
        self.is_moved_by_kernel || self.cached_state().can_receive()
    }

    /// Attaches a queue pair for datagrams to a multicast group, whose messages it then receives
    /// (ibv_attach_mcast(3)). `lid` is the local identifier of the group; InfiniBand only.
    ///
    /// # Errors
    /// `EINVAL`: it is not for datagrams, or the address is not that of a group.
    pub fn attach_multicast(&self, group: Gid, lid: u16) -> Result<()> {
        let group = group.to_c();
        // SAFETY: the queue pair is alive and the address valid over the call.
        let code = unsafe { (library!(verbs).ibv_attach_mcast)(self.raw(), &raw const group, lid) };
        Error::check("ibv_attach_mcast", code).map_err(|error| error.on(self.error_object()))
    }

    /// Detaches it from a multicast group (ibv_attach_mcast(3)).
    ///
    /// # Errors
    /// `EINVAL`: it is not attached.
    pub fn detach_multicast(&self, group: Gid, lid: u16) -> Result<()> {
        let group = group.to_c();
        // SAFETY: the queue pair is alive and the address valid over the call.
        let code = unsafe { (library!(verbs).ibv_detach_mcast)(self.raw(), &raw const group, lid) };
        Error::check("ibv_detach_mcast", code).map_err(|error| error.on(self.error_object()))
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        if self.owner.is_none() {
            // SAFETY: this crate created it and destroys it once; events are acknowledged when they
            // are taken, so this does not wait.
            let _ = unsafe { (library!(verbs).ibv_destroy_qp)(self.raw()) };
        }
    }
}
