//! Queue pairs (ibv_create_qp(3), ibv_modify_qp(3), ibv_query_qp(3)).

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::Arc;

use dat_soft_verbs::{QueuePair, QueuePairInit, QueuePairType};
use rdma_verbs::sys::extended::{ibv_ece, ibv_qp_ex, ibv_qp_init_attr_ex};
use rdma_verbs::sys::verbs::{
    IBV_QP_INIT_ATTR_PD, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, ibv_context, ibv_pd, ibv_qp, ibv_qp_attr,
    ibv_qp_init_attr,
};

use super::acknowledged::Unacknowledged;
use super::post_ex::Builder;
use super::{completion_queue, domain, post_ex, queue_pair_attributes, shared_receive};
use crate::guard::{self, Result, invalid, unsupported};
use crate::object::{self, Zero, fields_of, write_field};

/// `IBV_QP_INIT_ATTR_CREATE_FLAGS`, for flags that are all 0.
const CREATE_FLAGS: u32 = 1 << 2;

/// A queue pair. All are extended in memory; only those that were created as such have the functions.
#[repr(C)]
pub(crate) struct Qp {
    pub(crate) c: ibv_qp_ex,
    pub(crate) core: Arc<QueuePair>,
    async_events: Unacknowledged,
    /// The attributes of its creation, with the actual sizes.
    init: ibv_qp_init_attr,
    pub(crate) builder: Builder,
}

fields_of!(ibv_qp as Qp: core: Arc<QueuePair>, async_events: Unacknowledged);

/// The type of a queue pair: RC, UC or UD.
pub(crate) fn kind_of(qp_type: u32) -> Result<QueuePairType> {
    [QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud]
        .into_iter()
        .find(|known| *known as u32 == qp_type)
        .ok_or_else(|| {
            let text = "the device has the types RC (2), UC (3) and UD (4), and neither raw packets nor XRC";
            unsupported(format!("cannot create a queue pair of type {qp_type}: {text}"))
        })
}

/// Creates a queue pair. The attributes get its actual size.
///
/// # Safety
/// The domain and the queues of the attributes must be alive.
unsafe fn create(
    pd: *mut ibv_pd,
    init: &mut ibv_qp_init_attr,
    sends: Option<u64>,
) -> Result<*mut ibv_qp> {
    let kind = kind_of(init.qp_type)?;
    if init.send_cq.is_null() || init.recv_cq.is_null() {
        return Err(invalid("cannot create a queue pair without two completion queues"));
    }
    // SAFETY: the caller guarantees live queues.
    let send_queue = Arc::clone(unsafe { completion_queue::core(init.send_cq) });
    // SAFETY: as above.
    let receive_queue = Arc::clone(unsafe { completion_queue::core(init.recv_cq) });
    let shared_receives = match init.srq.is_null() {
        true => None,
        // SAFETY: as above.
        false => Some(Arc::clone(unsafe { shared_receive::core(init.srq) })),
    };
    // SAFETY: the caller guarantees a live domain.
    let domain = unsafe { domain::core(pd) };
    // SAFETY: as above.
    let context = unsafe { domain::context(pd) };
    let qp = object::create(|user| {
        let core = domain.create_queue_pair(&QueuePairInit {
            user,
            kind,
            send_queue,
            receive_queue,
            shared_receives,
            capacity: queue_pair_attributes::capacity(&init.cap),
            signals_all: init.sq_sig_all != 0,
        })?;
        init.cap = queue_pair_attributes::c_capacity(&core.query().cap);
        let mut c = ibv_qp_ex::zero();
        let base = &mut c.qp_base;
        base.context = context;
        base.qp_context = init.qp_context;
        base.pd = pd;
        base.send_cq = init.send_cq;
        base.recv_cq = init.recv_cq;
        base.srq = init.srq;
        base.qp_num = core.number();
        base.state = core.state() as u32;
        base.qp_type = init.qp_type;
        if let Some(sends) = sends {
            post_ex::fill(&mut c, sends);
        }
        let init = ibv_qp_init_attr { ..*init };
        Ok(Qp {
            c,
            core,
            async_events: Unacknowledged::default(),
            init,
            builder: Builder::default(),
        })
    })?;
    Ok(qp.cast())
}

/// Creates a queue pair, or returns null with errno. The attributes get its actual size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_create_qp(
    pd: *mut ibv_pd,
    init: &mut ibv_qp_init_attr,
) -> *mut ibv_qp {
    // SAFETY: the caller guarantees the objects.
    guard::object(|| unsafe { create(pd, init, None) })
}

/// The operation of `ibv_create_qp_ex`: with the calls `ibv_wr_*` if the program requests them.
pub(crate) unsafe extern "C" fn create_extended(
    _context: *mut ibv_context,
    init: *mut ibv_qp_init_attr_ex,
) -> *mut ibv_qp {
    guard::object(|| {
        // SAFETY: the caller guarantees the structure.
        let extended = unsafe { &*init };
        let mask = extended.comp_mask;
        if mask & IBV_QP_INIT_ATTR_PD == 0 {
            return Err(invalid(
                "cannot create a queue pair without a domain (IBV_QP_INIT_ATTR_PD)",
            ));
        }
        let known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | CREATE_FLAGS;
        if mask & !known != 0 || mask & CREATE_FLAGS != 0 && extended.create_flags != 0 {
            return Err(unsupported(format!(
                "cannot create a queue pair with comp_mask {mask:#x} and create_flags {:#x}: the device lacks these",
                extended.create_flags
            )));
        }
        let sends =
            (mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS != 0).then_some(extended.send_ops_flags);
        let pd = extended.pd;
        if let Some(sends) = sends {
            post_ex::check(extended.qp_type, sends)?;
        }
        // SAFETY: the structure begins with the plain one.
        let plain = unsafe { &mut *init.cast::<ibv_qp_init_attr>() };
        // SAFETY: the caller guarantees the objects.
        unsafe { create(pd, plain, sends) }
    })
}

/// The queue pair as one with the calls `ibv_wr_*`, or null if it was not created as such.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_qp_to_qp_ex(qp: *mut ibv_qp) -> *mut ibv_qp_ex {
    guard::object(|| {
        let extended = qp.cast::<ibv_qp_ex>();
        // SAFETY: the caller guarantees a live queue pair, whose functions never change.
        let has_calls = unsafe { (*extended).wr_start.is_some() };
        has_calls.then_some(extended).ok_or_else(|| {
            invalid("the queue pair lacks ibv_wr_*: create it with IBV_QP_INIT_ATTR_SEND_OPS_FLAGS")
        })
    })
}

/// Changes attributes, and moves to another state: 0 or an errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_modify_qp(
    qp: *mut ibv_qp,
    attributes: &ibv_qp_attr,
    mask: c_int,
) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees a live queue pair.
        let core = unsafe { core(qp) };
        let (changes, mask) = queue_pair_attributes::from_c(attributes, mask as u32)?;
        let changed = core.modify(&changes, mask);
        write_field!(qp, state = core.state() as u32);
        Ok(changed?)
    })
}

/// The attributes of a queue pair, all of them: 0 or an errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_query_qp(
    qp: *mut ibv_qp,
    attributes: &mut MaybeUninit<ibv_qp_attr>,
    _mask: c_int,
    init: &mut MaybeUninit<ibv_qp_init_attr>,
) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees a live queue pair.
        let found = queue_pair_attributes::to_c(&unsafe { core(qp) }.query());
        // SAFETY: as above; the field never changes.
        let whole = unsafe { &(*qp.cast::<Qp>()).init };
        write_field!(qp, state = found.qp_state);
        attributes.write(found);
        init.write(ibv_qp_init_attr { ..*whole });
        Ok(())
    })
}

/// Destroys a queue pair, after all its events have been acknowledged: 0 or an errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_destroy_qp(qp: *mut ibv_qp) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees a live queue pair.
        unsafe { core(qp) }.destroy()?;
        // SAFETY: as above.
        unsafe { async_events(qp) }.wait();
        // SAFETY: nothing uses it any more.
        unsafe { object::delete(qp.cast::<Qp>()) };
        Ok(())
    })
}

const NO_OPTIONS: &str = "a queue pair has no options of a vendor (ECE): connect without them";

/// Options that devices negotiate: there are none, so this is refused with `EOPNOTSUPP`.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_set_ece(_qp: *mut ibv_qp, _ece: *mut ibv_ece) -> c_int {
    guard::status(|| Err(unsupported(NO_OPTIONS)))
}

/// Refused with `EOPNOTSUPP`, as [`ibv_set_ece`].
#[unsafe(no_mangle)]
pub extern "C" fn ibv_query_ece(_qp: *mut ibv_qp, _ece: *mut ibv_ece) -> c_int {
    guard::status(|| Err(unsupported(NO_OPTIONS)))
}

/// The flags of operations whose bytes arrive in order: 0, because there is no such guarantee.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_query_qp_data_in_order(
    _qp: *mut ibv_qp,
    _operation: c_int,
    _flags: u32,
) -> c_int {
    0
}
