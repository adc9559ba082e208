//! Shared receive queues.

use std::ptr::NonNull;
use std::sync::Arc;

use super::in_flight::{InFlight, Order};
use super::{Error, Owner, ProtectionDomain, Result, key_to_pointer, library, object};
use crate::sys::verbs::{IBV_SRQ_LIMIT, IBV_SRQ_MAX_WR, ibv_srq, ibv_srq_attr, ibv_srq_init_attr};

object! {
    /// A shared receive queue (ibv_create_srq(3)): queue pairs take their receives from it.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use rdma_verbs::verbs::{Access, Memory, MemoryRegion, ProtectionDomain, SharedReceiveQueue};
    ///
    /// fn shared(domain: &Arc<ProtectionDomain>) -> rdma_verbs::Result<Arc<SharedReceiveQueue>> {
    ///     let queue = SharedReceiveQueue::new(domain, 64, 1, 0)?;
    ///     let memory = MemoryRegion::new(domain, Memory::zeroed(4096), Access::LOCAL_WRITE)?;
    ///     queue.post_receive(1, &[memory.segment(0..4096)?])?;
    ///     Ok(queue) // for `QueuePairInit::shared`
    /// }
    /// ```
    SharedReceiveQueue(ibv_srq) {
        domain: Arc<ProtectionDomain>,
        max_segments: u32,
        receives: Arc<InFlight>,
        owner: Option<Owner>,
    }
}

/// The capacity of a shared receive queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedReceiveAttributes {
    /// Maximum number of receives in the queue.
    pub max_receives: u32,
    /// Maximum number of segments of one receive.
    pub max_segments: u32,
    /// An event is raised once when fewer receives than this are left; 0 for none.
    pub limit: u32,
}

impl SharedReceiveQueue {
    /// Creates a queue for at least that many receives, each of at most that many segments.
    /// Asynchronous events name it by `key`.
    ///
    /// # Errors
    /// `EINVAL`, `ENOMEM`: the device does not support that size.
    pub fn new(
        domain: &Arc<ProtectionDomain>,
        receives: u32,
        segments: u32,
        key: u64,
    ) -> Result<Arc<Self>> {
        let attr = ibv_srq_attr { max_wr: receives, max_sge: segments, srq_limit: 0 };
        let mut init = ibv_srq_init_attr { srq_context: key_to_pointer(key), attr };
        // SAFETY: the domain is alive and the attributes valid.
        let raw = unsafe { (library!(verbs).ibv_create_srq)(domain.raw(), &raw mut init) };
        let raw = NonNull::new(raw).ok_or_else(|| Error::last("ibv_create_srq"))?;
        let (domain, max_segments) = (Arc::clone(domain), init.attr.max_sge.max(segments));
        Ok(Arc::new(Self {
            raw,
            domain,
            max_segments,
            receives: InFlight::new(Order::Any),
            owner: None,
        }))
    }

    /// Wraps a queue that belongs to another object, as does the record of its receives.
    ///
    /// # Safety
    /// It must live as long as its owner.
    pub(crate) unsafe fn owned_by(
        raw: NonNull<ibv_srq>,
        domain: Arc<ProtectionDomain>,
        max_segments: u32,
        receives: Arc<InFlight>,
        owner: Owner,
    ) -> Arc<Self> {
        Arc::new(Self { raw, domain, max_segments, receives, owner: Some(owner) })
    }

    pub(super) const fn max_segments(&self) -> usize {
        self.max_segments as usize
    }

    pub(super) fn in_flight(&self) -> &Arc<InFlight> {
        &self.receives
    }

    /// The domain of the queue.
    #[must_use]
    pub fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    /// Number of receives that are posted and whose completions were not taken.
    #[must_use]
    pub fn receives_in_flight(&self) -> usize {
        self.receives.len()
    }

    /// Resizes the queue to at least that many receives (ibv_modify_srq(3)).
    ///
    /// # Errors
    /// `EINVAL`, `EOPNOTSUPP`: the device cannot resize it.
    pub fn resize(&self, receives: u32) -> Result<()> {
        self.modify(ibv_srq_attr { max_wr: receives, ..ibv_srq_attr::default() }, IBV_SRQ_MAX_WR)
    }

    /// Requests one event when fewer than `limit` receives are left; 0 for none.
    ///
    /// # Errors
    /// `EINVAL`: the capacity of the queue is smaller.
    pub fn set_limit(&self, limit: u32) -> Result<()> {
        self.modify(ibv_srq_attr { srq_limit: limit, ..ibv_srq_attr::default() }, IBV_SRQ_LIMIT)
    }

    fn modify(&self, mut attributes: ibv_srq_attr, mask: i32) -> Result<()> {
        // SAFETY: the queue is alive and the attributes are a copy.
        let code =
            unsafe { (library!(verbs).ibv_modify_srq)(self.raw(), &raw mut attributes, mask) };
        Error::check("ibv_modify_srq", code)
    }

    /// Its capacity, and its limit (ibv_query_srq(3)).
    ///
    /// # Errors
    /// The error of the device.
    pub fn query(&self) -> Result<SharedReceiveAttributes> {
        let mut attributes = ibv_srq_attr::default();
        // SAFETY: the queue is alive and the pointer valid.
        let code = unsafe { (library!(verbs).ibv_query_srq)(self.raw(), &raw mut attributes) };
        Error::check("ibv_query_srq", code)?;
        Ok(SharedReceiveAttributes {
            max_receives: attributes.max_wr,
            max_segments: attributes.max_sge,
            limit: attributes.srq_limit,
        })
    }
}

impl Drop for SharedReceiveQueue {
    fn drop(&mut self) {
        if self.owner.is_none() {
            // SAFETY: this crate created it; its queue pairs keep it alive, so they are gone; it is
            // destroyed once.
            let _ = unsafe { (library!(verbs).ibv_destroy_srq)(self.raw()) };
        }
    }
}
