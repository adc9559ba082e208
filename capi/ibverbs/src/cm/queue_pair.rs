//! The queue pair of an identifier, and its queues (rdma_create_qp(3), rdma_create_srq(3)).

use std::ffi::c_int;
use std::ptr::null_mut;

use dat_soft_verbs::QueuePairState;
use rdma_verbs::sys::extended::{ibv_qp_init_attr_ex, ibv_srq_init_attr_ex};
use rdma_verbs::sys::rdma_cma::rdma_cm_id;
use rdma_verbs::sys::verbs::{
    ibv_comp_channel, ibv_context, ibv_cq, ibv_pd, ibv_qp, ibv_qp_attr, ibv_qp_init_attr,
    ibv_srq_init_attr,
};

use super::{device, id};
use crate::guard::{self, INVALID, Result};
use crate::object::Zero;
use crate::verbs::channel::{ibv_create_comp_channel, ibv_destroy_comp_channel};
use crate::verbs::completion_queue::{ibv_create_cq, ibv_destroy_cq};
use crate::verbs::queue_pair::ibv_destroy_qp;
use crate::verbs::shared_receive::{ibv_create_srq, ibv_destroy_srq};
use crate::verbs::{context, queue_pair, queue_pair_attributes, shared_receive};

/// `IBV_QP_INIT_ATTR_PD`
const WITH_DOMAIN: u32 = 1;

// SAFETY: numbers and pointers.
unsafe impl Zero for ibv_qp_init_attr_ex {}

/// A completion queue with its channel, for an identifier.
///
/// # Safety
/// The identifier must be bound.
unsafe fn create_queue(
    id: *mut rdma_cm_id,
    depth: u32,
) -> Result<(*mut ibv_comp_channel, *mut ibv_cq)> {
    // SAFETY: the caller guarantees a live identifier, whose device is open.
    let context: *mut ibv_context = unsafe { (*id).verbs };
    // SAFETY: as above.
    let channel = unsafe { ibv_create_comp_channel(context) };
    if channel.is_null() {
        return Err(guard::last());
    }
    let depth = c_int::try_from(depth.max(1)).map_err(|_| INVALID)?;
    // SAFETY: as above. The inline functions of rdma_verbs.h expect the identifier as the context of the queue.
    let queue = unsafe { ibv_create_cq(context, depth, id.cast(), channel, 0) };
    if queue.is_null() {
        let failure = guard::last();
        // SAFETY: just created.
        unsafe { ibv_destroy_comp_channel(channel) };
        return Err(failure);
    }
    Ok((channel, queue))
}

/// Destroys the completion queues that were created for the queue pair of an identifier.
///
/// # Safety
/// The identifier must be alive, and its queue pair destroyed.
unsafe fn destroy_queues(id: *mut rdma_cm_id) {
    // SAFETY: the caller guarantees a live identifier; as in rdma-core, the program makes no other call meanwhile.
    let c = unsafe { &mut *id };
    let queues =
        [(&mut c.send_cq, &mut c.send_cq_channel), (&mut c.recv_cq, &mut c.recv_cq_channel)];
    for (queue, channel) in queues {
        if !queue.is_null() {
            // SAFETY: it was created for this identifier.
            unsafe { ibv_destroy_cq(std::mem::replace(queue, null_mut())) };
        }
        if !channel.is_null() {
            // SAFETY: as above.
            unsafe { ibv_destroy_comp_channel(std::mem::replace(channel, null_mut())) };
        }
    }
}

/// Creates the queue pair of an identifier.
///
/// # Safety
/// The identifier must be alive, and the attributes valid.
pub(super) unsafe fn create(id: *mut rdma_cm_id, init: &mut ibv_qp_init_attr_ex) -> Result<()> {
    // SAFETY: the caller guarantees a live identifier; as in rdma-core, the program makes no other call meanwhile.
    let c = unsafe { &mut *id };
    if c.verbs.is_null() || !c.qp.is_null() {
        return Err(INVALID);
    }
    if init.comp_mask & WITH_DOMAIN == 0 || init.pd.is_null() {
        init.comp_mask |= WITH_DOMAIN;
        init.pd = c.pd;
    }
    // SAFETY: the domain is live: it is the caller's, or the identifier's own.
    if init.pd.is_null() || unsafe { (*init.pd).context } != c.verbs {
        return Err(INVALID);
    }
    for queue in [init.send_cq, init.recv_cq] {
        // SAFETY: the caller guarantees live queues.
        if !queue.is_null() && unsafe { (*queue).context } != c.verbs {
            return Err(INVALID);
        }
    }
    if init.srq.is_null() {
        init.srq = c.srq;
    }
    // SAFETY: as above.
    let made = unsafe { create_with_queues(id, init) };
    if made.is_err() {
        // SAFETY: no queue pair uses them.
        unsafe { destroy_queues(id) };
    }
    made
}

unsafe fn create_with_queues(id: *mut rdma_cm_id, init: &mut ibv_qp_init_attr_ex) -> Result<()> {
    if init.send_cq.is_null() {
        // SAFETY: the caller guarantees a bound identifier.
        let (channel, queue) = unsafe { create_queue(id, init.cap.max_send_wr) }?;
        // SAFETY: as above.
        unsafe { (*id).send_cq_channel = channel };
        // SAFETY: as above.
        unsafe { (*id).send_cq = queue };
        init.send_cq = queue;
    }
    if init.recv_cq.is_null() {
        // SAFETY: as above.
        let (channel, queue) = unsafe { create_queue(id, init.cap.max_recv_wr) }?;
        // SAFETY: as above.
        unsafe { (*id).recv_cq_channel = channel };
        // SAFETY: as above.
        unsafe { (*id).recv_cq = queue };
        init.recv_cq = queue;
    }
    // SAFETY: as above.
    let context = unsafe { (*id).verbs };
    // SAFETY: the objects of the attributes are alive, as the caller guarantees.
    let qp = unsafe { queue_pair::create_extended(context, &raw mut *init) };
    if qp.is_null() {
        return Err(guard::last());
    }
    // SAFETY: just created.
    let core = unsafe { queue_pair::core(qp) };
    // SAFETY: as above.
    if let Err(error) = unsafe { id::core(id) }.attach(core) {
        // SAFETY: just created.
        unsafe { ibv_destroy_qp(qp) };
        return Err(error.into());
    }
    // SAFETY: as above.
    unsafe { (*id).qp = qp };
    // SAFETY: as above.
    unsafe { (*id).pd = init.pd };
    // SAFETY: as above.
    unsafe { id::refresh(id) }
}

/// The extended form of plain attributes.
pub(super) fn extended(plain: &ibv_qp_init_attr, domain: *mut ibv_pd) -> ibv_qp_init_attr_ex {
    let mut init = ibv_qp_init_attr_ex::zero();
    init.qp_context = plain.qp_context;
    (init.send_cq, init.recv_cq, init.srq) = (plain.send_cq, plain.recv_cq, plain.srq);
    (init.cap, init.qp_type, init.sq_sig_all) = (plain.cap, plain.qp_type, plain.sq_sig_all);
    init.pd = domain;
    init.comp_mask = if domain.is_null() { 0 } else { WITH_DOMAIN };
    init
}

/// Creates the queue pair of an identifier, and the completion queues that are not given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_create_qp(
    id: *mut rdma_cm_id,
    domain: *mut ibv_pd,
    init: *mut ibv_qp_init_attr,
) -> c_int {
    guard::number(|| {
        // SAFETY: the caller guarantees the attributes.
        let plain = unsafe { init.as_mut() }.ok_or(INVALID)?;
        let mut whole = extended(plain, domain);
        // SAFETY: the caller guarantees the identifier.
        unsafe { create(id, &mut whole) }?;
        // As in librdmacm, only the size: a program may use the attributes for the next identifier.
        plain.cap = whole.cap;
        Ok(0)
    })
}

/// As [`soft_rdma_create_qp`], with extended attributes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_create_qp_ex(
    id: *mut rdma_cm_id,
    init: *mut ibv_qp_init_attr_ex,
) -> c_int {
    guard::number(|| {
        // SAFETY: the caller guarantees the attributes.
        let init = unsafe { init.as_mut() }.ok_or(INVALID)?;
        // SAFETY: the caller guarantees the identifier.
        unsafe { create(id, init) }.map(|()| 0)
    })
}

/// Destroys the queue pair of an identifier, and the completion queues that were created with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_destroy_qp(id: *mut rdma_cm_id) {
    let _ = guard::run(|| {
        // SAFETY: the caller guarantees a live identifier.
        let qp: *mut ibv_qp = unsafe { (*id).qp };
        if qp.is_null() {
            return Ok(());
        }
        // SAFETY: as above.
        drop(unsafe { id::core(id) }.detach());
        // SAFETY: as above.
        unsafe { ibv_destroy_qp(qp) };
        // SAFETY: as above.
        unsafe { (*id).qp = null_mut() };
        // SAFETY: the queue pair is destroyed.
        unsafe { destroy_queues(id) };
        Ok(())
    });
}

/// Creates the shared receive queue of an identifier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_create_srq(
    id: *mut rdma_cm_id,
    domain: *mut ibv_pd,
    init: *mut ibv_srq_init_attr,
) -> c_int {
    guard::number(|| {
        // SAFETY: the caller guarantees a live identifier; as in rdma-core, the program makes no other call meanwhile.
        let c = unsafe { &mut *id };
        let domain = if domain.is_null() { c.pd } else { domain };
        // SAFETY: the domain is live: it is the caller's, or the identifier's own.
        if c.verbs.is_null() || !c.srq.is_null() || unsafe { (*domain).context } != c.verbs {
            return Err(INVALID);
        }
        // SAFETY: as above.
        let srq = unsafe { ibv_create_srq(domain, init) };
        if srq.is_null() {
            return Err(guard::last());
        }
        (c.srq, c.pd) = (srq, domain);
        Ok(0)
    })
}

/// As [`soft_rdma_create_srq`], with extended attributes. Only the basic type is known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_create_srq_ex(
    id: *mut rdma_cm_id,
    init: *mut ibv_srq_init_attr_ex,
) -> c_int {
    /// `IBV_SRQ_INIT_ATTR_PD`
    const PD: u32 = 1 << 1;
    guard::number(|| {
        // SAFETY: the caller guarantees the attributes.
        let init = unsafe { init.as_mut() }.ok_or(INVALID)?;
        // SAFETY: the caller guarantees a live identifier; as in rdma-core, the program makes no other call meanwhile.
        let c = unsafe { &mut *id };
        if c.verbs.is_null() || !c.srq.is_null() {
            return Err(INVALID);
        }
        if init.comp_mask & PD == 0 || init.pd.is_null() {
            init.comp_mask |= PD;
            init.pd = c.pd;
        }
        // SAFETY: as above.
        let srq = unsafe { shared_receive::create_extended(c.verbs, init) };
        if srq.is_null() {
            return Err(guard::last());
        }
        (c.srq, c.pd) = (srq, init.pd);
        Ok(0)
    })
}

/// Destroys the shared receive queue of an identifier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_destroy_srq(id: *mut rdma_cm_id) {
    let _ = guard::run(|| {
        // SAFETY: the caller guarantees a live identifier.
        let srq = unsafe { (*id).srq };
        // SAFETY: as above.
        if !srq.is_null() && unsafe { ibv_destroy_srq(srq) } == 0 {
            // SAFETY: as above.
            unsafe { (*id).srq = null_mut() };
        }
        Ok(())
    });
}

/// The attributes with which a queue pair of the program gets to the state that they name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_init_qp_attr(
    id: *mut rdma_cm_id,
    attributes: *mut ibv_qp_attr,
    mask: *mut c_int,
) -> c_int {
    guard::number(|| {
        // SAFETY: the caller guarantees the attributes.
        let number = unsafe { (*attributes).qp_state };
        let state = QueuePairState::from_number(number).ok_or(INVALID)?;
        // SAFETY: the caller guarantees a live identifier.
        if unsafe { (*id).verbs.is_null() } {
            return Err(INVALID);
        }
        let opened = device::opened()?;
        // SAFETY: the device of the connection manager stays open.
        let context = unsafe { context::core(opened.context) };
        // SAFETY: as above.
        let (found, bits) = unsafe { id::core(id) }.attributes(context, state)?;
        // SAFETY: the caller guarantees the pointer.
        unsafe { attributes.write(queue_pair_attributes::to_c(&found)) };
        // SAFETY: as above.
        unsafe { mask.write(bits.bits() as c_int) };
        Ok(0)
    })
}
