//! The attributes of queue pairs, between `ibv_qp_attr` and the core.

use dat_soft_verbs::{
    Access, AttributeMask, QueuePairAttributes, QueuePairCapacity, QueuePairState,
};
use rdma_verbs::sys::verbs::{ibv_qp_attr, ibv_qp_cap};

use super::address_handle::{attributes, vector};
use crate::guard::{Result, invalid};
use crate::object::with_fields;

/// The attributes that a mask names; the others of C may be anything.
pub(crate) fn from_c(
    from: &ibv_qp_attr,
    mask: u32,
) -> Result<(QueuePairAttributes, AttributeMask)> {
    let mask = AttributeMask::from_bits_retain(mask);
    let state = |number: u32, flag: AttributeMask| {
        if mask.contains(flag) {
            QueuePairState::from_number(number).ok_or_else(|| {
                invalid(format!("cannot modify a queue pair: there is no state {number}"))
            })
        } else {
            Ok(QueuePairState::Reset)
        }
    };
    let access = if mask.contains(AttributeMask::ACCESS_FLAGS) { from.qp_access_flags } else { 0 };
    let to = with_fields!(QueuePairAttributes of from:
        path_mtu, path_mig_state, qkey, rq_psn, sq_psn, dest_qp_num, pkey_index, alt_pkey_index, max_rd_atomic,
        max_dest_rd_atomic, min_rnr_timer, port_num, timeout, retry_cnt, rnr_retry, alt_port_num, alt_timeout,
        rate_limit;
        qp_state: state(from.qp_state, AttributeMask::STATE)?,
        cur_qp_state: state(from.cur_qp_state, AttributeMask::CUR_STATE)?,
        qp_access_flags: Access::from_bits_truncate(access), cap: capacity(&from.cap),
        ah_attr: vector(&from.ah_attr), alt_ah_attr: vector(&from.alt_ah_attr),
        en_sqd_async_notify: from.en_sqd_async_notify != 0, sq_draining: from.sq_draining != 0);
    Ok((to, mask))
}

/// The attributes for C.
pub(crate) fn to_c(from: &QueuePairAttributes) -> ibv_qp_attr {
    with_fields!(ibv_qp_attr of from:
        path_mtu, path_mig_state, qkey, rq_psn, sq_psn, dest_qp_num, pkey_index, alt_pkey_index, max_rd_atomic,
        max_dest_rd_atomic, min_rnr_timer, port_num, timeout, retry_cnt, rnr_retry, alt_port_num, alt_timeout,
        rate_limit;
        qp_state: from.qp_state as u32, cur_qp_state: from.cur_qp_state as u32,
        qp_access_flags: from.qp_access_flags.bits(), cap: c_capacity(&from.cap),
        ah_attr: attributes(&from.ah_attr), alt_ah_attr: attributes(&from.alt_ah_attr),
        en_sqd_async_notify: from.en_sqd_async_notify.into(), sq_draining: from.sq_draining.into())
}

/// The capacity of C, in the form of the core.
pub(crate) fn capacity(from: &ibv_qp_cap) -> QueuePairCapacity {
    with_fields!(QueuePairCapacity of from:
        max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data;)
}

/// The capacity for C.
pub(crate) fn c_capacity(from: &QueuePairCapacity) -> ibv_qp_cap {
    with_fields!(ibv_qp_cap of from: max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data;)
}
