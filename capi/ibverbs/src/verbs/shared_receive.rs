//! Shared receive queues (ibv_create_srq(3), ibv_post_srq_recv(3)).

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::Arc;

use dat_soft_verbs::{SharedReceiveInit, SharedReceiveQueue};
use rdma_verbs::sys::extended::ibv_srq_init_attr_ex;
use rdma_verbs::sys::verbs::{
    IBV_SRQ_LIMIT, IBV_SRQ_MAX_WR, ibv_context, ibv_pd, ibv_recv_wr, ibv_srq, ibv_srq_attr,
    ibv_srq_init_attr,
};

use super::acknowledged::Unacknowledged;
use super::domain::{self, context};
use super::post;
use crate::guard::{self, invalid, unsupported};
use crate::object::{self, Zero, fields_of};

/// `comp_mask` of ibv_create_srq_ex(3): the type and the domain.
const TYPE: u32 = 1;
const DOMAIN: u32 = 1 << 1;
/// `IBV_SRQT_BASIC`.
const BASIC: u32 = 0;

#[repr(C)]
struct Srq {
    c: ibv_srq,
    core: Arc<SharedReceiveQueue>,
    async_events: Unacknowledged,
}

fields_of!(ibv_srq as Srq: core: Arc<SharedReceiveQueue>, async_events: Unacknowledged);

/// Creates a queue, or returns null with errno. The attributes get its actual size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_create_srq(
    pd: *mut ibv_pd,
    attributes: *mut ibv_srq_init_attr,
) -> *mut ibv_srq {
    guard::object(|| {
        // SAFETY: the caller guarantees the structure.
        let attributes = unsafe { &mut *attributes };
        // SAFETY: the caller guarantees a live domain.
        let domain = unsafe { domain::core(pd) };
        // SAFETY: as above.
        let context = unsafe { context(pd) };
        let (max_wr, max_sge) = (attributes.attr.max_wr, attributes.attr.max_sge);
        let srq = object::create(|user| {
            let core =
                domain.create_shared_receive_queue(&SharedReceiveInit { user, max_wr, max_sge })?;
            let mut c = ibv_srq::zero();
            c.context = context;
            c.srq_context = attributes.srq_context;
            c.pd = pd;
            let size = core.query();
            (attributes.attr.max_wr, attributes.attr.max_sge) = (size.max_wr, size.max_sge);
            Ok(Srq { c, core, async_events: Unacknowledged::default() })
        })?;
        Ok(srq.cast())
    })
}

/// The operation of `ibv_create_srq_ex`: basic queues only.
pub(crate) unsafe extern "C" fn create_extended(
    _context: *mut ibv_context,
    attributes: *mut ibv_srq_init_attr_ex,
) -> *mut ibv_srq {
    // SAFETY: the caller guarantees the structure.
    let ibv_srq_init_attr_ex { comp_mask: mask, srq_type, pd, .. } = *unsafe { &*attributes };
    if mask & !(TYPE | DOMAIN) != 0 || mask & TYPE != 0 && srq_type != BASIC {
        return guard::object(|| {
            Err(unsupported(format!(
                "cannot create a shared receive queue of type {srq_type} with comp_mask {mask:#x}: the device has basic ones"
            )))
        });
    }
    if mask & DOMAIN == 0 {
        return guard::object(|| {
            Err(invalid(
                "cannot create a shared receive queue without a domain (IBV_SRQ_INIT_ATTR_PD)",
            ))
        });
    }
    // SAFETY: the structure begins with the plain one.
    unsafe { ibv_create_srq(pd, attributes.cast()) }
}

/// Changes the size of a queue, or its limit: 0 or an errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_modify_srq(
    srq: *mut ibv_srq,
    attributes: &ibv_srq_attr,
    mask: c_int,
) -> c_int {
    guard::status(|| {
        if mask & !(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) != 0 {
            return Err(invalid(format!(
                "cannot modify a shared receive queue with the mask {mask:#x}"
            )));
        }
        let max_wr = (mask & IBV_SRQ_MAX_WR != 0).then_some(attributes.max_wr);
        let limit = (mask & IBV_SRQ_LIMIT != 0).then_some(attributes.srq_limit);
        // SAFETY: the caller guarantees a live queue.
        Ok(unsafe { core(srq) }.modify(max_wr, limit)?)
    })
}

/// The size and the limit of a queue: 0 or an errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_query_srq(
    srq: *mut ibv_srq,
    attributes: &mut MaybeUninit<ibv_srq_attr>,
) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees a live queue.
        let found = unsafe { core(srq) }.query();
        let found =
            ibv_srq_attr { max_wr: found.max_wr, max_sge: found.max_sge, srq_limit: found.limit };
        attributes.write(found);
        Ok(())
    })
}

/// Destroys a queue, after all its events have been acknowledged: 0 or an errno, `EBUSY` while queue pairs use it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_destroy_srq(srq: *mut ibv_srq) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees a live queue.
        unsafe { core(srq) }.destroy()?;
        // SAFETY: as above.
        unsafe { async_events(srq) }.wait();
        // SAFETY: nothing uses it any more.
        unsafe { object::delete(srq.cast::<Srq>()) };
        Ok(())
    })
}

/// The operation of `ibv_post_srq_recv`.
pub(crate) unsafe extern "C" fn post(
    srq: *mut ibv_srq,
    requests: *mut ibv_recv_wr,
    bad: *mut *mut ibv_recv_wr,
) -> c_int {
    // SAFETY: the caller guarantees a live queue.
    let core = unsafe { core(srq) };
    // SAFETY: the caller guarantees a list of requests with their segments, and the result.
    unsafe {
        post::each_receive(requests, bad, |wr_id, segments| core.post_receive(wr_id, segments))
    }
}
