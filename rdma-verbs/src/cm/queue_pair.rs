//! Queue pairs and shared receive queues of identifiers (rdma_create_qp(3),
//! rdma_create_srq(3)).

use std::net::SocketAddr;
use std::ptr::{NonNull, null_mut};
use std::sync::{Arc, Weak};

use super::CmId;
use super::id::Inner;
use crate::sys::verbs::{
    self as sys, ibv_context, ibv_qp_attr, ibv_qp_init_attr, ibv_srq_attr, ibv_srq_init_attr,
};
use crate::verbs::{
    Capabilities, CompletionChannel, CompletionQueue, InFlight, Order, Owner, Parts,
    ProtectionDomain, QueuePair, QueuePairType, QueueRecords, Records, SharedReceiveAttributes,
    SharedReceiveQueue, field, key_to_pointer, library,
};
use crate::{Error, Result};

/// The parameters of an identifier's queue pair. Completion queues that are not given are created
/// with it, each with its own channel.
#[derive(Clone, Copy, Debug)]
pub struct CmQueuePairInit<'a> {
    /// The queue in which its requests complete.
    pub send_queue: Option<&'a Arc<CompletionQueue>>,
    /// The queue in which its receives complete.
    pub receive_queue: Option<&'a Arc<CompletionQueue>>,
    /// The shared queue from which it takes its receives. If this is `None` and the identifier has a
    /// shared queue ([`CmId::create_shared_receive_queue`]), it takes them from there.
    pub shared: Option<&'a Arc<SharedReceiveQueue>>,
    /// Its minimum size.
    pub capabilities: Capabilities,
    /// Its kind.
    pub queue_pair_type: QueuePairType,
    /// True if every request generates a completion, whatever its flags.
    pub all_signaled: bool,
}

impl CmQueuePairInit<'_> {
    /// A queue pair of that kind and size, with its own completion queues.
    #[must_use]
    pub const fn new(queue_pair_type: QueuePairType, capabilities: Capabilities) -> Self {
        let (send_queue, receive_queue, shared) = (None, None, None);
        Self {
            send_queue,
            receive_queue,
            shared,
            capabilities,
            queue_pair_type,
            all_signaled: false,
        }
    }

    /// Returns true if all queues that are given belong to the open device.
    pub(super) fn has_queues_only_of(&self, device: *mut ibv_context) -> bool {
        let queues = [self.send_queue, self.receive_queue].into_iter().flatten();
        let contexts = queues.map(|queue| queue.context());
        let shared = self.shared.map(|shared| shared.domain().context());
        contexts.chain(shared).all(|context| context.raw() == device)
    }

    /// Converts it to C; the result borrows the queues. Asynchronous events name the queue pair by
    /// the key.
    pub(super) fn to_c(self, key: u64) -> ibv_qp_init_attr {
        ibv_qp_init_attr {
            qp_context: key_to_pointer(key),
            send_cq: self.send_queue.map_or(null_mut(), |queue| queue.raw()),
            recv_cq: self.receive_queue.map_or(null_mut(), |queue| queue.raw()),
            srq: self.shared.map_or(null_mut(), |shared| shared.raw()),
            cap: self.capabilities.to_c(),
            qp_type: self.queue_pair_type.value(),
            sq_sig_all: i32::from(self.all_signaled),
        }
    }
}

/// The objects that a queue pair uses, kept as long as it exists.
#[derive(Clone, Debug)]
pub(super) struct Given {
    send_queue: Option<Arc<CompletionQueue>>,
    receive_queue: Option<Arc<CompletionQueue>>,
    shared: Option<Arc<SharedReceiveQueue>>,
    domain: Option<Arc<ProtectionDomain>>,
    queue_pair_type: QueuePairType,
}

impl Given {
    pub(super) fn new(
        init: &CmQueuePairInit<'_>,
        queue_pair_type: QueuePairType,
        domain: Option<&Arc<ProtectionDomain>>,
    ) -> Self {
        Self {
            send_queue: init.send_queue.cloned(),
            receive_queue: init.receive_queue.cloned(),
            shared: init.shared.cloned(),
            domain: domain.cloned(),
            queue_pair_type,
        }
    }
}

/// The queue pair of an identifier.
#[derive(Debug)]
pub(super) struct MadeQueuePair {
    given: Given,
    records: QueueRecords,
    /// The records of the completion queues that were created with it.
    completions: [Arc<Records>; 2],
    handle: Weak<QueuePair>,
}

impl MadeQueuePair {
    pub(super) fn new(given: Given) -> Self {
        let completions = [Arc::default(), Arc::default()];
        Self { given, records: QueueRecords::default(), completions, handle: Weak::new() }
    }
}

/// The shared receive queue of an identifier.
#[derive(Debug)]
struct MadeShared {
    _domain: Option<Arc<ProtectionDomain>>,
    max_segments: u32,
    receives: Arc<InFlight>,
    handle: Weak<SharedReceiveQueue>,
}

/// The objects that were created with an identifier.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) queue_pair: Option<MadeQueuePair>,
    shared: Option<MadeShared>,
    /// The parameters of the queue pairs for requests to a listening identifier.
    pub(super) for_requests: Option<Given>,
    /// The multicast groups that it joined.
    pub(super) groups: Vec<SocketAddr>,
    /// One reference for each handle of the queue pair and its completion queues.
    handles: Arc<()>,
}

impl Made {
    /// Returns true if the identifier has its own shared receive queue.
    pub(super) fn has_shared(&self) -> bool {
        self.shared.is_some()
    }
}

/// Keeps the identifier alive for a handle of its queue pair or completion queues, and counts the
/// handle.
struct Counted {
    _id: Arc<Inner>,
    _count: Arc<()>,
}

impl CmId {
    /// Creates the queue pair of the identifier, in the given domain or the default one of its
    /// device, and returns its size (rdma_create_qp(3)). The library moves it through its states
    /// with the connection; receives can be posted, and datagrams sent, at once.
    ///
    /// # Errors
    /// `EINVAL`: the identifier is not bound to a device, has a queue pair already, or the domain
    /// or a queue belongs to another device; `ENOMEM`: the device does not support that size.
    pub fn create_queue_pair(
        &self,
        domain: Option<&Arc<ProtectionDomain>>,
        init: &CmQueuePairInit<'_>,
    ) -> Result<Capabilities> {
        const CALL: &str = "rdma_create_qp";
        self.check_bound(CALL)?;
        // The library checks only the domain.
        if !init.has_queues_only_of(field!(self.raw(), verbs)) {
            return Err(self.refused(CALL, libc::EINVAL));
        }
        let mut attributes = init.to_c(self.key());
        let mut made = self.inner.made.lock();
        let raw = domain.map_or(null_mut(), |domain| domain.raw());
        let _operation = self.operation();
        // SAFETY: the identifier, the domain and the queues are alive, and the identifier keeps
        // them from now on.
        let code = unsafe { (library!(cm).rdma_create_qp)(self.raw(), raw, &raw mut attributes) };
        self.check(CALL, code)?;
        made.queue_pair = Some(MadeQueuePair::new(Given::new(init, init.queue_pair_type, domain)));
        Ok(Capabilities::from_c(&attributes.cap))
    }

    /// The queue pair that was created with the identifier or for it.
    #[must_use]
    pub fn queue_pair(&self) -> Option<Arc<QueuePair>> {
        let mut made = self.inner.made.lock();
        self.handle_of_queue_pair(&mut made)
    }

    fn handle_of_queue_pair(&self, made: &mut Made) -> Option<Arc<QueuePair>> {
        if let Some(handle) = made.queue_pair.as_ref()?.handle.upgrade() {
            return Some(handle);
        }
        let raw = NonNull::new(field!(self.raw(), qp))?;
        let own_shared = self.handle_of_shared(made);
        let counted = || {
            let (_id, _count) = (Arc::clone(&self.inner), Arc::clone(&made.handles));
            Arc::new(Counted { _id, _count }) as Owner
        };
        let queue_pair = made.queue_pair.as_ref()?;
        let given = &queue_pair.given;
        let domain = self.domain_of(Some(queue_pair))?;
        let context = domain.context();
        let queue = |given: &Option<Arc<CompletionQueue>>, cq, channel, records: &Arc<Records>| {
            if let Some(given) = given {
                return Some(Arc::clone(given));
            }
            let channel = NonNull::new(channel).map(|channel| {
                // SAFETY: the channel lives until the queue pair is destroyed, which is refused
                // while counted handles exist.
                unsafe { CompletionChannel::owned_by(channel, context.clone(), counted()) }
            });
            let (cq, records) = (NonNull::new(cq)?, Arc::clone(records));
            // SAFETY: the queue lives until the queue pair is destroyed, which is refused while
            // counted handles exist.
            Some(unsafe {
                CompletionQueue::owned_by(cq, context.clone(), channel, records, counted())
            })
        };
        let id = self.raw();
        let [sends, receives] = &queue_pair.completions;
        let parts = Parts {
            send_queue: queue(
                &given.send_queue,
                field!(id, send_cq),
                field!(id, send_cq_channel),
                sends,
            )?,
            receive_queue: queue(
                &given.receive_queue,
                field!(id, recv_cq),
                field!(id, recv_cq_channel),
                receives,
            )?,
            shared: given.shared.clone().or(own_shared),
            records: queue_pair.records.clone(),
        };
        let size = capabilities(raw);
        // SAFETY: the queue pair lives until it is destroyed, which is refused while a handle
        // exists.
        let handle = unsafe {
            QueuePair::owned_by(raw, size, given.queue_pair_type, domain, parts, counted())
        };
        let handle = Arc::new(handle);
        made.queue_pair.as_mut()?.handle = Arc::downgrade(&handle);
        Some(handle)
    }

    /// The domain of the queue pair: the given one, or the default one of the device.
    #[must_use]
    pub fn domain(&self) -> Option<Arc<ProtectionDomain>> {
        self.domain_of(self.inner.made.lock().queue_pair.as_ref())
    }

    fn domain_of(&self, made: Option<&MadeQueuePair>) -> Option<Arc<ProtectionDomain>> {
        if let Some(domain) = made.and_then(|made| made.given.domain.clone()) {
            return Some(domain);
        }
        let raw = NonNull::new(field!(self.raw(), pd))?;
        // SAFETY: the default domain lives as long as an identifier of its device.
        Some(unsafe { ProtectionDomain::owned_by(raw, self.context()?, self.owner()) })
    }

    /// Destroys the queue pair, and the completion queues that were created with it
    /// (rdma_destroy_qp(3)). Dropping the identifier does so too.
    ///
    /// # Errors
    /// `EINVAL`: there is none; `EBUSY`: the program has a handle of it or of its completion
    /// queues.
    pub fn destroy_queue_pair(&self) -> Result<()> {
        const CALL: &str = "rdma_destroy_qp";
        let mut made = self.inner.made.lock();
        if field!(self.raw(), qp).is_null() {
            return Err(self.refused(CALL, libc::EINVAL));
        }
        if Arc::strong_count(&made.handles) != 1 {
            return Err(self.refused(CALL, libc::EBUSY));
        }
        let operation = self.operation();
        // SAFETY: the identifier is alive, and its queue pair has no handle; the lock keeps other
        // threads from creating one.
        unsafe { (library!(cm).rdma_destroy_qp)(self.raw()) };
        drop(operation);
        let parts = made.queue_pair.take();
        drop(made);
        drop(parts);
        Ok(())
    }

    /// Creates a shared receive queue with the identifier, from which its queue pair will take its
    /// receives (rdma_create_srq(3)). Without a domain it belongs to the default one.
    ///
    /// # Errors
    /// `EINVAL`: the identifier is not bound to a device, has such a queue or a queue pair already,
    /// or the domain belongs to another device.
    pub fn create_shared_receive_queue(
        &self,
        domain: Option<&Arc<ProtectionDomain>>,
        size: SharedReceiveAttributes,
    ) -> Result<Arc<SharedReceiveQueue>> {
        const CALL: &str = "rdma_create_srq";
        self.check_bound(CALL)?;
        let mut made = self.inner.made.lock();
        let id = self.raw();
        if !field!(id, srq).is_null() || !field!(id, qp).is_null() {
            return Err(self.refused(CALL, libc::EINVAL));
        }
        let attr = ibv_srq_attr {
            max_wr: size.max_receives,
            max_sge: size.max_segments,
            srq_limit: size.limit,
        };
        let srq_context = field!(id, context);
        let mut init = ibv_srq_init_attr { srq_context, attr };
        let raw = domain.map_or(null_mut(), |domain| domain.raw());
        let operation = self.operation();
        // SAFETY: the identifier and the domain are alive, and the identifier keeps the domain.
        let code = unsafe { (library!(cm).rdma_create_srq)(id, raw, &raw mut init) };
        self.check(CALL, code)?;
        drop(operation);
        made.shared = Some(MadeShared {
            _domain: domain.cloned(),
            max_segments: init.attr.max_sge.max(size.max_segments),
            receives: InFlight::new(Order::Any),
            handle: Weak::new(),
        });
        self.handle_of_shared(&mut made).ok_or(self.refused(CALL, libc::EPROTO))
    }

    /// The shared receive queue that was created with the identifier.
    #[must_use]
    pub fn shared_receive_queue(&self) -> Option<Arc<SharedReceiveQueue>> {
        self.handle_of_shared(&mut self.inner.made.lock())
    }

    fn handle_of_shared(&self, made: &mut Made) -> Option<Arc<SharedReceiveQueue>> {
        let shared = made.shared.as_mut()?;
        if let Some(handle) = shared.handle.upgrade() {
            return Some(handle);
        }
        let raw = NonNull::new(field!(self.raw(), srq))?;
        // SAFETY: the queue is alive, and its domain never changes.
        let domain = NonNull::new(unsafe { raw.as_ref() }.pd)?;
        // SAFETY: the domain is the default one, or kept by the identifier.
        let domain = unsafe { ProtectionDomain::owned_by(domain, self.context()?, self.owner()) };
        let (segments, receives) = (shared.max_segments, Arc::clone(&shared.receives));
        // SAFETY: the queue lives until it is destroyed, which is refused while a handle exists.
        let handle =
            unsafe { SharedReceiveQueue::owned_by(raw, domain, segments, receives, self.owner()) };
        shared.handle = Arc::downgrade(&handle);
        Some(handle)
    }

    /// Destroys the shared receive queue (rdma_destroy_srq(3)). Dropping the identifier does so
    /// too.
    ///
    /// # Errors
    /// `EINVAL`: there is none; `EBUSY`: the queue pair of the identifier uses it, or the program
    /// has a handle of it.
    pub fn destroy_shared_receive_queue(&self) -> Result<()> {
        const CALL: &str = "rdma_destroy_srq";
        let mut made = self.inner.made.lock();
        let Some(shared) = &made.shared else {
            return Err(self.refused(CALL, libc::EINVAL));
        };
        if !field!(self.raw(), qp).is_null() || shared.handle.strong_count() != 0 {
            return Err(self.refused(CALL, libc::EBUSY));
        }
        let operation = self.operation();
        // SAFETY: the identifier is alive, and its queue has neither a user nor a handle.
        unsafe { (library!(cm).rdma_destroy_srq)(self.raw()) };
        drop(operation);
        made.shared = None;
        Ok(())
    }
}

/// The size of a queue pair, as the device reports it (ibv_query_qp(3)).
fn capabilities(raw: NonNull<sys::ibv_qp>) -> Capabilities {
    let mut attributes = ibv_qp_attr::default();
    let mut init = std::mem::MaybeUninit::<ibv_qp_init_attr>::zeroed();
    // SAFETY: the queue pair is alive and the pointers valid.
    let code = unsafe {
        let call = library!(verbs).ibv_query_qp;
        call(raw.as_ptr(), &raw mut attributes, sys::IBV_QP_CAP, init.as_mut_ptr())
    };
    // If the query fails, all limits are 0 and every post is refused.
    Error::check("ibv_query_qp", code).map_or_else(
        |_| Capabilities::default(),
        // SAFETY: the memory was zeroed, which is valid for the type, and then filled.
        |()| Capabilities::from_c(&unsafe { init.assume_init() }.cap),
    )
}
