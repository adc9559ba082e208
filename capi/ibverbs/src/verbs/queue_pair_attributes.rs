//! The attributes of queue pairs, between `ibv_qp_attr` and the core.

use dat_soft_verbs::{
    Access, AttributeMask, QueuePairAttributes, QueuePairCapacity, QueuePairState,
};
use rdma_verbs::sys::verbs::ibv_qp_attr;

use super::address_handle::{attributes, vector};
use super::queue_pair::c_capacity;
use crate::guard::{INVALID, Result};

/// The attributes that a mask names; the others of C may be anything.
pub(crate) fn from_c(
    from: &ibv_qp_attr,
    mask: u32,
) -> Result<(QueuePairAttributes, AttributeMask)> {
    let mask = AttributeMask::from_bits_retain(mask);
    let state = |number: u32, flag: AttributeMask| {
        if mask.contains(flag) {
            QueuePairState::from_number(number).ok_or(INVALID)
        } else {
            Ok(QueuePairState::Reset)
        }
    };
    let access = if mask.contains(AttributeMask::ACCESS_FLAGS) { from.qp_access_flags } else { 0 };
    let to = QueuePairAttributes {
        qp_state: state(from.qp_state, AttributeMask::STATE)?,
        cur_qp_state: state(from.cur_qp_state, AttributeMask::CUR_STATE)?,
        path_mtu: from.path_mtu,
        path_mig_state: from.path_mig_state,
        qkey: from.qkey,
        rq_psn: from.rq_psn,
        sq_psn: from.sq_psn,
        dest_qp_num: from.dest_qp_num,
        qp_access_flags: Access::from_bits_truncate(access),
        cap: QueuePairCapacity {
            max_send_wr: from.cap.max_send_wr,
            max_recv_wr: from.cap.max_recv_wr,
            max_send_sge: from.cap.max_send_sge,
            max_recv_sge: from.cap.max_recv_sge,
            max_inline_data: from.cap.max_inline_data,
        },
        ah_attr: vector(&from.ah_attr),
        alt_ah_attr: vector(&from.alt_ah_attr),
        pkey_index: from.pkey_index,
        alt_pkey_index: from.alt_pkey_index,
        en_sqd_async_notify: from.en_sqd_async_notify != 0,
        sq_draining: from.sq_draining != 0,
        max_rd_atomic: from.max_rd_atomic,
        max_dest_rd_atomic: from.max_dest_rd_atomic,
        min_rnr_timer: from.min_rnr_timer,
        port_num: from.port_num,
        timeout: from.timeout,
        retry_cnt: from.retry_cnt,
        rnr_retry: from.rnr_retry,
        alt_port_num: from.alt_port_num,
        alt_timeout: from.alt_timeout,
        rate_limit: from.rate_limit,
    };
    Ok((to, mask))
}

/// The attributes for C.
pub(crate) fn to_c(from: &QueuePairAttributes) -> ibv_qp_attr {
    ibv_qp_attr {
        qp_state: from.qp_state as u32,
        cur_qp_state: from.cur_qp_state as u32,
        path_mtu: from.path_mtu,
        path_mig_state: from.path_mig_state,
        qkey: from.qkey,
        rq_psn: from.rq_psn,
        sq_psn: from.sq_psn,
        dest_qp_num: from.dest_qp_num,
        qp_access_flags: from.qp_access_flags.bits(),
        cap: c_capacity(&from.cap),
        ah_attr: attributes(&from.ah_attr),
        alt_ah_attr: attributes(&from.alt_ah_attr),
        pkey_index: from.pkey_index,
        alt_pkey_index: from.alt_pkey_index,
        en_sqd_async_notify: from.en_sqd_async_notify.into(),
        sq_draining: from.sq_draining.into(),
        max_rd_atomic: from.max_rd_atomic,
        max_dest_rd_atomic: from.max_dest_rd_atomic,
        min_rnr_timer: from.min_rnr_timer,
        port_num: from.port_num,
        timeout: from.timeout,
        retry_cnt: from.retry_cnt,
        rnr_retry: from.rnr_retry,
        alt_port_num: from.alt_port_num,
        alt_timeout: from.alt_timeout,
        rate_limit: from.rate_limit,
    }
}
