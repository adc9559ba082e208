//! Queue pairs that identifiers make, and identifiers made whole from what names resolve to
//! (rdma_create_qp(3), rdma_create_ep(3), rdma_getaddrinfo(3)).
//!
//! The provider makes its queue pairs itself, before there is an identifier; this part of the
//! layer is for programs that do not need that, and for the tests.
#![cfg_attr(not(test), allow(dead_code, reason = "the provider has no need of it"))]

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use super::address::from_storage;
use super::{Channel, Id, PortSpace, event};
use crate::sys::rdma_cma::{RAI_PASSIVE, rdma_addrinfo};
use crate::sys::verbs::{self as sys, ibv_qp_cap, ibv_qp_init_attr};
use crate::verbs::{
    CompletionChannel, CompletionQueue, Failure, Lent, ProtectionDomain, QueuePair, QueuePairKind,
    Result, SharedReceiveQueue, field, library,
};

/// What an identifier makes its queue pair from; queues that are not given are made with it.
#[derive(Clone, Copy)]
pub(crate) struct IdQueuePairInit<'a> {
    pub(crate) send_queue: Option<&'a Arc<CompletionQueue>>,
    pub(crate) receive_queue: Option<&'a Arc<CompletionQueue>>,
    pub(crate) shared: Option<&'a Arc<SharedReceiveQueue>>,
    pub(crate) capabilities: ibv_qp_cap,
    pub(crate) kind: QueuePairKind,
}

impl IdQueuePairInit<'_> {
    fn to_c(self) -> ibv_qp_init_attr {
        ibv_qp_init_attr {
            qp_context: null_mut(),
            send_cq: self.send_queue.map_or(null_mut(), |queue| queue.raw()),
            recv_cq: self.receive_queue.map_or(null_mut(), |queue| queue.raw()),
            srq: self.shared.map_or(null_mut(), |shared| shared.raw()),
            cap: self.capabilities,
            qp_type: match self.kind {
                QueuePairKind::Connected => sys::IBV_QPT_RC,
                QueuePairKind::Datagram => sys::IBV_QPT_UD,
            },
            sq_sig_all: 0,
        }
    }
}

impl IdQueuePairInit<'_> {
    /// What the queue pair is made from.
    fn parts(&self, domain: Option<&Arc<ProtectionDomain>>) -> Vec<Lent> {
        let queues = [self.send_queue, self.receive_queue];
        let queues = queues.into_iter().flatten().map(|queue| Arc::clone(queue) as Lent);
        let domain = domain.map(|domain| Arc::clone(domain) as Lent);
        let shared = self.shared.map(|shared| Arc::clone(shared) as Lent);
        queues.chain(domain).chain(shared).collect()
    }
}

impl Id {
    /// Makes the identifier's queue pair, in the domain or else in the default one of its
    /// device, and returns the capabilities that it got (rdma_create_qp(3)).
    pub(crate) fn create_queue_pair(
        &self,
        domain: Option<&Arc<ProtectionDomain>>,
        init: &IdQueuePairInit<'_>,
    ) -> Result<ibv_qp_cap> {
        self.check_bound("rdma_create_qp")?;
        let mut attributes = init.to_c();
        self.keep(init.parts(domain));
        let domain = domain.map_or(null_mut(), |domain| domain.raw());
        let _turn = self.turn();
        // SAFETY: the identifier, the domain and the queues are alive, and the identifier keeps
        // them.
        let code =
            unsafe { (library!(cm).rdma_create_qp)(self.raw(), domain, &raw mut attributes) };
        Failure::check("rdma_create_qp", code)?;
        Ok(attributes.cap)
    }

    fn lender(&self) -> Lent {
        Arc::clone(self.keeper()) as Lent
    }

    /// The queue pair that was made with it.
    pub(crate) fn queue_pair(&self, capabilities: ibv_qp_cap) -> Option<QueuePair> {
        // SAFETY: the identifier is alive.
        let raw = NonNull::new(unsafe { (*self.raw()).qp })?;
        let domain = self.domain()?;
        // SAFETY: the queue pair lives as long as the identifier, which is the lender.
        Some(unsafe { QueuePair::lent(raw, capabilities, domain, self.lender()) })
    }

    /// The domain of the queue pair.
    pub(crate) fn domain(&self) -> Option<Arc<ProtectionDomain>> {
        // SAFETY: the identifier is alive.
        let raw = NonNull::new(unsafe { (*self.raw()).pd })?;
        let context = self.context()?;
        // SAFETY: the domain lives as long as an identifier of its device.
        Some(unsafe { ProtectionDomain::lent(raw, context, self.lender()) })
    }

    /// The queues of sends and receives, with the channels that were made with them.
    pub(crate) fn queues(&self) -> Option<[IdQueue; 2]> {
        // SAFETY: the identifier is alive.
        let id = unsafe { &*self.raw() };
        let context = self.context()?;
        let queue = |cq, channel| {
            let (cq, context) = (NonNull::new(cq)?, context.clone());
            let of_channel = (context.clone(), self.lender());
            // SAFETY: the queue lives as long as the identifier.
            let queue = unsafe { CompletionQueue::lent(cq, context, self.lender()) };
            let channel = NonNull::new(channel).map(|channel| {
                let (context, lender) = of_channel;
                // SAFETY: so does the channel.
                unsafe { CompletionChannel::lent(channel, context, lender) }
            });
            Some(IdQueue { queue, channel })
        };
        Some([queue(id.send_cq, id.send_cq_channel)?, queue(id.recv_cq, id.recv_cq_channel)?])
    }

    /// Makes an identifier from the first result of a resolution, and with attributes also its
    /// queue pair, or on the passive side those of the requests to come (rdma_create_ep(3)). It
    /// is synchronous.
    pub(crate) fn create_endpoint(
        from: &AddressInfo,
        domain: Option<&Arc<ProtectionDomain>>,
        init: Option<&IdQueuePairInit<'_>>,
    ) -> Result<Self> {
        let mut raw = null_mut();
        let parts = init.map_or_else(Vec::new, |init| init.parts(domain));
        let domain = domain.map_or(null_mut(), |domain| domain.raw());
        let mut attributes = init.map(|init| init.to_c());
        let place = attributes.as_mut().map_or(null_mut(), |place| &raw mut *place);
        // SAFETY: the places are valid and the objects alive.
        let code =
            unsafe { (library!(cm).rdma_create_ep)(&raw mut raw, from.0.as_ptr(), domain, place) };
        Failure::check("rdma_create_ep", code)?;
        let id = Self::wrap(raw, None, true, "rdma_create_ep")?;
        id.keep(parts);
        Ok(id)
    }

    /// Waits for a request and returns its identifier, with its queue pair where the listening
    /// one has attributes for it (rdma_get_request(3)). Synchronous identifiers only.
    pub(crate) fn take_request(&self) -> Result<Self> {
        let mut raw = null_mut();
        let _turn = self.turn();
        // SAFETY: the identifier is alive and the place valid.
        let code = unsafe { (library!(cm).rdma_get_request)(self.raw(), &raw mut raw) };
        Failure::check("rdma_get_request", code)?;
        let id = Self::wrap(raw, None, self.is_endpoint(), "rdma_get_request")?;
        // Its queue pair is made from what the listening one was given.
        id.keep(vec![self.lender()]);
        Ok(id)
    }
}

/// What only synchronous identifiers have, and what the provider has no need of.
impl Id {
    /// Moves the identifier to another channel, or makes it synchronous; its events that were
    /// not taken move as well (rdma_migrate_id(3)).
    pub(crate) fn migrate(&self, channel: Option<&Arc<Channel>>) -> Result<()> {
        let mut place = self.keeper().channel.lock();
        let to = channel.map_or(null_mut(), |channel| channel.raw());
        // SAFETY: the identifier and the channel, if there is one, are alive.
        let code = unsafe { (library!(cm).rdma_migrate_id)(self.raw(), to) };
        Failure::check("rdma_migrate_id", code)?;
        *place = channel.cloned();
        Ok(())
    }

    /// Whether its operations block.
    pub(crate) fn is_synchronous(&self) -> bool {
        self.keeper().channel.lock().is_none()
    }

    /// The event that a synchronous identifier keeps, that of its last operation.
    pub(crate) fn kept_event(&self) -> Option<event::Event> {
        let _turn = self.turn()?;
        // SAFETY: the identifier is alive, and its event does not change during the turn.
        let kept = NonNull::new(unsafe { (*self.raw()).event })?;
        // SAFETY: it is valid until it is acknowledged, at the next operation.
        let kept = unsafe { kept.as_ref() };
        // SAFETY: as above.
        Some(unsafe { event::copy_kept(kept) })
    }

    /// The local address (rdma_get_local_addr(3)).
    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        from_storage(&field!(self.raw(), route.addr.src))
    }

    /// The other side's port number (rdma_get_dst_port(3)).
    pub(crate) fn peer_port(&self) -> u16 {
        // SAFETY: the identifier is alive.
        u16::from_be(unsafe { (library!(cm).rdma_get_dst_port)(self.raw()) })
    }
}

/// A completion queue of an identifier's, with its channel where that was made with it.
pub(crate) struct IdQueue {
    pub(crate) queue: Arc<CompletionQueue>,
    pub(crate) channel: Option<Arc<CompletionChannel>>,
}

/// What is asked of a resolution.
#[derive(Clone, Copy)]
pub(crate) struct Hints {
    pub(crate) space: PortSpace,
    /// For the side that listens (`RAI_PASSIVE`).
    pub(crate) passive: bool,
}

/// What a name or an address resolves to (rdma_getaddrinfo(3)).
pub(crate) struct AddressInfo(NonNull<rdma_addrinfo>);

impl AddressInfo {
    /// Resolves the address of a device and a port.
    pub(crate) fn resolve(address: SocketAddr, hints: Hints) -> Result<Self> {
        const CALL: &str = "rdma_getaddrinfo";
        let Ok(libraries) = crate::sys::libraries() else {
            return Err(Failure { call: CALL, errno: libc::ENOSYS });
        };
        // An address and a number have no zero byte.
        let text = |text: String| CString::new(text).unwrap_or_default();
        let (node, service) = (text(address.ip().to_string()), text(address.port().to_string()));
        // SAFETY: zeros are a value of the type that asks for nothing.
        let mut wanted: rdma_addrinfo = unsafe { MaybeUninit::zeroed().assume_init() };
        wanted.ai_flags = if hints.passive { RAI_PASSIVE } else { 0 };
        wanted.ai_port_space = hints.space.value() as i32;
        wanted.ai_qp_type = match hints.space {
            PortSpace::Udp => sys::IBV_QPT_UD as i32,
            PortSpace::Tcp | PortSpace::Ib => sys::IBV_QPT_RC as i32,
        };
        let mut found = null_mut();
        // SAFETY: the texts end with a zero byte and the places are valid.
        let code = unsafe {
            let call = libraries.cm.rdma_getaddrinfo;
            call(node.as_ptr(), service.as_ptr(), &raw const wanted, &raw mut found)
        };
        if code != 0 {
            return Err(Failure { call: CALL, errno: libc::EADDRNOTAVAIL });
        }
        NonNull::new(found).map(Self).ok_or(Failure { call: CALL, errno: libc::EADDRNOTAVAIL })
    }
}

impl Drop for AddressInfo {
    fn drop(&mut self) {
        // SAFETY: it came from rdma_getaddrinfo and is freed once.
        unsafe { (library!(cm).rdma_freeaddrinfo)(self.0.as_ptr()) };
    }
}
