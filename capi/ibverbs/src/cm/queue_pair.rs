//! The queue pair of an identifier, and its queues (rdma_create_qp(3), rdma_create_srq(3)).

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use dat_soft_verbs::QueuePairState;
use rdma_verbs::sys::extended::{ibv_qp_init_attr_ex, ibv_srq_init_attr_ex};
use rdma_verbs::sys::verbs::{
    ibv_comp_channel, ibv_context, ibv_cq, ibv_pd, ibv_qp_attr, ibv_qp_init_attr, ibv_srq_init_attr,
};

use super::device;
use super::id::Id;
use crate::guard::{self, Failure, Result, given, in_range, invalid};
use crate::object::Zero;
use crate::verbs::channel::{ibv_create_comp_channel, ibv_destroy_comp_channel};
use crate::verbs::completion_queue::{ibv_create_cq, ibv_destroy_cq};
use crate::verbs::queue_pair::ibv_destroy_qp;
use crate::verbs::shared_receive::{ibv_create_srq, ibv_destroy_srq};
use crate::verbs::{queue_pair, queue_pair_attributes, shared_receive};

/// `IBV_QP_INIT_ATTR_PD`
const WITH_DOMAIN: u32 = 1;

/// What an identifier needs before it has queues.
const NOT_BOUND: &str =
    "bind it to the device of the protection domain first (rdma_resolve_addr, rdma_bind_addr)";

// SAFETY: numbers and pointers.
unsafe impl Zero for ibv_qp_init_attr_ex {}

/// A completion queue with its channel, for an identifier that is bound.
fn create_queue(id: Id<'_>, depth: u32) -> Result<(*mut ibv_comp_channel, *mut ibv_cq)> {
    let context: *mut ibv_context = id.with(|c| c.verbs);
    // SAFETY: the device of a bound identifier is open.
    let channel = guard::made(unsafe { ibv_create_comp_channel(context) })?;
    let depth = in_range(depth.max(1), "the size of a completion queue")?;
    // The inline functions of rdma_verbs.h expect the identifier as the context of the queue.
    let context_of_queue = id.pointer().cast();
    // SAFETY: as above.
    let queue = unsafe { ibv_create_cq(context, depth, context_of_queue, channel, 0) };
    let queue = guard::made(queue);
    if queue.is_err() {
        // SAFETY: just created.
        unsafe { ibv_destroy_comp_channel(channel) };
    }
    Ok((channel, queue?))
}

/// Destroys the completion queues that were created for the queue pair of an identifier.
///
/// # Safety
/// Its queue pair must be destroyed.
unsafe fn destroy_queues(id: Id<'_>) {
    let queues = id.with(|c| {
        [(&mut c.send_cq, &mut c.send_cq_channel), (&mut c.recv_cq, &mut c.recv_cq_channel)]
            .map(|(queue, channel)| (take(queue), take(channel)))
    });
    for (queue, channel) in queues {
        if !queue.is_null() {
            // SAFETY: it was created for this identifier.
            unsafe { ibv_destroy_cq(queue) };
        }
        if !channel.is_null() {
            // SAFETY: as above.
            unsafe { ibv_destroy_comp_channel(channel) };
        }
    }
}

fn take<T>(pointer: &mut *mut T) -> *mut T {
    std::mem::replace(pointer, null_mut())
}

/// Creates the queue pair of an identifier.
///
/// # Safety
/// The attributes must be valid.
pub(super) unsafe fn create(id: Id<'_>, init: &mut ibv_qp_init_attr_ex) -> Result<()> {
    let (verbs, pd, srq, has_queue_pair) = id.with(|c| (c.verbs, c.pd, c.srq, !c.qp.is_null()));
    if verbs.is_null() || has_queue_pair {
        return Err(invalid(format!(
            "cannot create the queue pair of an identifier: {}",
            if has_queue_pair { "it has one already" } else { NOT_BOUND }
        )));
    }
    if init.comp_mask & WITH_DOMAIN == 0 || init.pd.is_null() {
        init.comp_mask |= WITH_DOMAIN;
        init.pd = pd;
    }
    // SAFETY: the domain is live: it is the caller's, or the identifier's own.
    if init.pd.is_null() || unsafe { (*init.pd).context } != verbs {
        return Err(invalid(
            "cannot create the queue pair of an identifier: its protection domain is of another context",
        ));
    }
    for queue in [init.send_cq, init.recv_cq] {
        // SAFETY: the caller guarantees live queues.
        if !queue.is_null() && unsafe { (*queue).context } != verbs {
            return Err(invalid(
                "cannot create the queue pair of an identifier: a completion queue is of another context",
            ));
        }
    }
    if init.srq.is_null() {
        init.srq = srq;
    }
    // SAFETY: as above.
    let made = unsafe { create_with_queues(id, init) };
    if made.is_err() {
        // SAFETY: no queue pair uses them.
        unsafe { destroy_queues(id) };
    }
    made
}

unsafe fn create_with_queues(id: Id<'_>, init: &mut ibv_qp_init_attr_ex) -> Result<()> {
    if init.send_cq.is_null() {
        let (channel, queue) = create_queue(id, init.cap.max_send_wr)?;
        id.with(|c| (c.send_cq_channel, c.send_cq) = (channel, queue));
        init.send_cq = queue;
    }
    if init.recv_cq.is_null() {
        let (channel, queue) = create_queue(id, init.cap.max_recv_wr)?;
        id.with(|c| (c.recv_cq_channel, c.recv_cq) = (channel, queue));
        init.recv_cq = queue;
    }
    let context = id.with(|c| c.verbs);
    // SAFETY: the objects of the attributes are alive, as the caller guarantees.
    let qp = guard::made(unsafe { queue_pair::create_extended(context, &raw mut *init) })?;
    // SAFETY: just created.
    if let Err(error) = id.core().attach(unsafe { queue_pair::core(qp) }) {
        // SAFETY: just created.
        unsafe { ibv_destroy_qp(qp) };
        return Err(error.into());
    }
    id.with(|c| (c.qp, c.pd) = (qp, init.pd));
    id.refresh()
}

/// The extended form of plain attributes.
fn extended(plain: &ibv_qp_init_attr, domain: *mut ibv_pd) -> ibv_qp_init_attr_ex {
    let mut init = ibv_qp_init_attr_ex::zero();
    init.qp_context = plain.qp_context;
    (init.send_cq, init.recv_cq, init.srq) = (plain.send_cq, plain.recv_cq, plain.srq);
    (init.cap, init.qp_type, init.sq_sig_all) = (plain.cap, plain.qp_type, plain.sq_sig_all);
    init.pd = domain;
    init.comp_mask = if domain.is_null() { 0 } else { WITH_DOMAIN };
    init
}

/// As [`create`] with plain attributes, which get the size of the queue pair. As in librdmacm, only that: a program may
/// use them for the next identifier.
///
/// # Safety
/// The domain must be null or alive, and the attributes valid.
pub(super) unsafe fn create_plain(
    id: Id<'_>,
    domain: *mut ibv_pd,
    plain: &mut ibv_qp_init_attr,
) -> Result<()> {
    let mut whole = extended(plain, domain);
    // SAFETY: as the caller guarantees.
    unsafe { create(id, &mut whole) }?;
    plain.cap = whole.cap;
    Ok(())
}

/// Creates the queue pair of an identifier, and the completion queues that are not given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_create_qp(
    id: Id<'_>,
    domain: *mut ibv_pd,
    init: Option<&mut ibv_qp_init_attr>,
) -> c_int {
    guard::zero(|| {
        let plain = given(init, "the attributes of the queue pair")?;
        // SAFETY: the caller guarantees the domain, and the objects of the attributes.
        unsafe { create_plain(id, domain, plain) }
    })
}

/// As [`soft_rdma_create_qp`], with extended attributes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_create_qp_ex(
    id: Id<'_>,
    init: Option<&mut ibv_qp_init_attr_ex>,
) -> c_int {
    guard::zero(|| {
        // SAFETY: the caller guarantees the objects of the attributes.
        unsafe { create(id, given(init, "the attributes of the queue pair")?) }
    })
}

/// Destroys the queue pair of an identifier, and the completion queues that were created with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_destroy_qp(id: Id<'_>) {
    let _ = guard::run(|| {
        let qp = id.with(|c| c.qp);
        if qp.is_null() {
            return Ok(());
        }
        drop(id.core().detach());
        // SAFETY: the program destroys it by its identifier only.
        unsafe { ibv_destroy_qp(qp) };
        id.with(|c| c.qp = null_mut());
        // SAFETY: the queue pair is destroyed.
        unsafe { destroy_queues(id) };
        Ok(())
    });
}

fn no_srq(has_one: bool) -> Failure {
    let why = if has_one { "it has one already" } else { NOT_BOUND };
    invalid(format!("cannot create the shared receive queue of an identifier: {why}"))
}

/// Creates the shared receive queue of an identifier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_create_srq(
    id: Id<'_>,
    domain: *mut ibv_pd,
    init: *mut ibv_srq_init_attr,
) -> c_int {
    guard::zero(|| {
        let (verbs, pd, has_srq) = id.with(|c| (c.verbs, c.pd, !c.srq.is_null()));
        let domain = if domain.is_null() { pd } else { domain };
        // SAFETY: the domain is live: it is the caller's, or the identifier's own.
        if verbs.is_null() || has_srq || unsafe { (*domain).context } != verbs {
            return Err(no_srq(has_srq));
        }
        // SAFETY: as above.
        let srq = guard::made(unsafe { ibv_create_srq(domain, init) })?;
        id.with(|c| (c.srq, c.pd) = (srq, domain));
        Ok(())
    })
}

/// As [`soft_rdma_create_srq`], with extended attributes. Only the basic type is known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_create_srq_ex(
    id: Id<'_>,
    init: Option<&mut ibv_srq_init_attr_ex>,
) -> c_int {
    /// `IBV_SRQ_INIT_ATTR_PD`
    const PD: u32 = 1 << 1;
    guard::zero(|| {
        let init = given(init, "the attributes of the shared receive queue")?;
        let (verbs, pd, has_srq) = id.with(|c| (c.verbs, c.pd, !c.srq.is_null()));
        if verbs.is_null() || has_srq {
            return Err(no_srq(has_srq));
        }
        if init.comp_mask & PD == 0 || init.pd.is_null() {
            init.comp_mask |= PD;
            init.pd = pd;
        }
        // SAFETY: the caller guarantees the objects of the attributes.
        let srq = guard::made(unsafe { shared_receive::create_extended(verbs, init) })?;
        id.with(|c| (c.srq, c.pd) = (srq, init.pd));
        Ok(())
    })
}

/// Destroys the shared receive queue of an identifier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_destroy_srq(id: Id<'_>) {
    let _ = guard::run(|| {
        let srq = id.with(|c| c.srq);
        // SAFETY: the program destroys it by its identifier only.
        if !srq.is_null() && unsafe { ibv_destroy_srq(srq) } == 0 {
            id.with(|c| c.srq = null_mut());
        }
        Ok(())
    });
}

/// The attributes with which a queue pair of the program gets to the state that they name.
#[unsafe(no_mangle)]
pub extern "C" fn soft_rdma_init_qp_attr(
    id: Id<'_>,
    attributes: *mut ibv_qp_attr,
    mask: &mut MaybeUninit<c_int>,
) -> c_int {
    guard::zero(|| {
        // SAFETY: the caller guarantees the structure, with the state.
        let number = unsafe { (*attributes).qp_state };
        let state = QueuePairState::from_number(number).ok_or_else(|| {
            invalid(format!("cannot find the attributes for the state {number}: there is none"))
        })?;
        if id.with(|c| c.verbs.is_null()) {
            return Err(invalid(format!(
                "cannot find the attributes of a queue pair: {NOT_BOUND}"
            )));
        }
        let (found, bits) = id.core().attributes(device::opened()?.core(), state)?;
        // SAFETY: as above.
        unsafe { attributes.write(queue_pair_attributes::to_c(&found)) };
        mask.write(bits.bits() as c_int);
        Ok(())
    })
}
