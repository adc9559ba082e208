//! Shared receive queues.

use std::ptr::NonNull;
use std::sync::Arc;

use super::memory::handle;
use super::{Failure, NOTHING, ProtectionDomain, Result, Sge, key_to_pointer, library};
use crate::sys::dispatch;
use crate::sys::verbs::{
    IBV_SRQ_LIMIT, IBV_SRQ_MAX_WR, ibv_recv_wr, ibv_srq, ibv_srq_attr, ibv_srq_init_attr,
};

handle! {
    /// A shared receive queue (ibv_create_srq(3)).
    SharedReceiveQueue(ibv_srq) { _domain: Arc<ProtectionDomain> }
}

impl SharedReceiveQueue {
    /// A queue for at least that many receives, each of at most so many segments; events tell
    /// of it by `key`.
    pub(crate) fn new(
        domain: &Arc<ProtectionDomain>,
        receives: u32,
        segments: u32,
        key: u64,
    ) -> Result<Arc<Self>> {
        let attr = ibv_srq_attr { max_wr: receives, max_sge: segments, srq_limit: 0 };
        let mut init = ibv_srq_init_attr { srq_context: key_to_pointer(key), attr };
        // SAFETY: the domain is alive and the place valid.
        let raw = unsafe { (library!(verbs).ibv_create_srq)(domain.raw(), &raw mut init) };
        match NonNull::new(raw) {
            Some(raw) => Ok(Arc::new(Self { raw, _domain: Arc::clone(domain) })),
            None => Err(Failure::last("ibv_create_srq")),
        }
    }

    /// Adds a receive (ibv_post_srq_recv(3)).
    pub(crate) fn post(&self, id: u64, segments: &[Sge]) -> Result<()> {
        let mut receive = ibv_recv_wr {
            wr_id: id,
            next: std::ptr::null_mut(),
            sg_list: segments.as_ptr().cast_mut(),
            num_sge: i32::try_from(segments.len()).unwrap_or(i32::MAX),
        };
        let mut bad = std::ptr::null_mut();
        // SAFETY: the queue is alive, the receive well formed; the library copies the list,
        // which it does not change.
        let code = unsafe { dispatch::post_srq_recv(self.raw(), &raw mut receive, &raw mut bad) };
        match Failure::check("ibv_post_srq_recv", code) {
            Err(failure) if failure.is_of_nothing(segments) => self.post(id, &[NOTHING]),
            posted => posted,
        }
    }

    /// Makes room for at least that many receives (ibv_modify_srq(3)).
    pub(crate) fn resize(&self, receives: u32) -> Result<()> {
        self.modify(ibv_srq_attr { max_wr: receives, ..ibv_srq_attr::default() }, IBV_SRQ_MAX_WR)
    }

    /// Asks for one event when fewer receives than that are left; 0 for none.
    pub(crate) fn set_limit(&self, limit: u32) -> Result<()> {
        self.modify(ibv_srq_attr { srq_limit: limit, ..ibv_srq_attr::default() }, IBV_SRQ_LIMIT)
    }

    fn modify(&self, mut attributes: ibv_srq_attr, mask: i32) -> Result<()> {
        // SAFETY: the queue is alive and the attributes a copy.
        let code =
            unsafe { (library!(verbs).ibv_modify_srq)(self.raw(), &raw mut attributes, mask) };
        Failure::check("ibv_modify_srq", code)
    }
}

impl Drop for SharedReceiveQueue {
    fn drop(&mut self) {
        // SAFETY: its queue pairs keep it and so are gone; destroyed once.
        let _ = unsafe { (library!(verbs).ibv_destroy_srq)(self.raw()) };
    }
}
