//! The attributes of queue pairs.

use bitflags::bitflags;

use crate::access::Access;
use crate::address_handle::AddressVector;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::port::PORT;

/// The type of a queue pair (`ibv_qp_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum QueuePairType {
    /// A reliable connection.
    Rc = 2,
    /// An unreliable connection.
    Uc = 3,
    /// Unreliable datagrams.
    Ud = 4,
}

/// The state of a queue pair (`ibv_qp_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum QueuePairState {
    /// Nothing can be posted.
    #[default]
    Reset = 0,
    /// Receives can be posted.
    Init = 1,
    /// Ready to receive.
    Rtr = 2,
    /// Ready to send.
    Rts = 3,
    /// Posted requests finish; new ones wait.
    Sqd = 4,
    /// A request has failed, receives go on.
    Sqe = 5,
    /// Everything is flushed.
    Err = 6,
}

impl QueuePairState {
    /// The state with that number.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Reset,
            1 => Self::Init,
            2 => Self::Rtr,
            3 => Self::Rts,
            4 => Self::Sqd,
            5 => Self::Sqe,
            6 => Self::Err,
            _ => return None,
        })
    }
}

/// The size of a queue pair (`ibv_qp_cap`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePairCapacity {
    /// Maximum number of outstanding requests.
    pub max_send_wr: u32,
    /// Maximum number of outstanding receives.
    pub max_recv_wr: u32,
    /// Maximum number of segments of a request.
    pub max_send_sge: u32,
    /// Maximum number of segments of a receive.
    pub max_recv_sge: u32,
    /// Maximum length of inline data, in bytes.
    pub max_inline_data: u32,
}

bitflags! {
    /// The attributes that a call sets (`ibv_qp_attr_mask`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct AttributeMask: u32 {
        /// `qp_state`.
        const STATE = 1;
        /// `cur_qp_state`.
        const CUR_STATE = 1 << 1;
        /// `en_sqd_async_notify`.
        const EN_SQD_ASYNC_NOTIFY = 1 << 2;
        /// `qp_access_flags`.
        const ACCESS_FLAGS = 1 << 3;
        /// `pkey_index`.
        const PKEY_INDEX = 1 << 4;
        /// `port_num`.
        const PORT = 1 << 5;
        /// `qkey`.
        const QKEY = 1 << 6;
        /// `ah_attr`.
        const AV = 1 << 7;
        /// `path_mtu`.
        const PATH_MTU = 1 << 8;
        /// `timeout`.
        const TIMEOUT = 1 << 9;
        /// `retry_cnt`.
        const RETRY_CNT = 1 << 10;
        /// `rnr_retry`.
        const RNR_RETRY = 1 << 11;
        /// `rq_psn`.
        const RQ_PSN = 1 << 12;
        /// `max_rd_atomic`.
        const MAX_QP_RD_ATOMIC = 1 << 13;
        /// The alternate path.
        const ALT_PATH = 1 << 14;
        /// `min_rnr_timer`.
        const MIN_RNR_TIMER = 1 << 15;
        /// `sq_psn`.
        const SQ_PSN = 1 << 16;
        /// `max_dest_rd_atomic`.
        const MAX_DEST_RD_ATOMIC = 1 << 17;
        /// `path_mig_state`.
        const PATH_MIG_STATE = 1 << 18;
        /// `cap`.
        const CAP = 1 << 19;
        /// `dest_qp_num`.
        const DEST_QPN = 1 << 20;
        /// `rate_limit`.
        const RATE_LIMIT = 1 << 25;
        /// Bits without a meaning, which are refused.
        const _ = !0;
    }
}

/// The attributes of a queue pair (`ibv_qp_attr`), with the same names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "ibv_modify_qp(3) describes each")]
pub struct QueuePairAttributes {
    pub qp_state: QueuePairState,
    pub cur_qp_state: QueuePairState,
    /// `ibv_mtu`, 1 to 5.
    pub path_mtu: u32,
    /// `ibv_mig_state`; always 0, migrated.
    pub path_mig_state: u32,
    pub qkey: u32,
    pub rq_psn: u32,
    pub sq_psn: u32,
    pub dest_qp_num: u32,
    pub qp_access_flags: Access,
    pub cap: QueuePairCapacity,
    pub ah_attr: AddressVector,
    pub alt_ah_attr: AddressVector,
    pub pkey_index: u16,
    pub alt_pkey_index: u16,
    pub en_sqd_async_notify: bool,
    pub sq_draining: bool,
    pub max_rd_atomic: u8,
    pub max_dest_rd_atomic: u8,
    pub min_rnr_timer: u8,
    pub port_num: u8,
    pub timeout: u8,
    pub retry_cnt: u8,
    pub rnr_retry: u8,
    pub alt_port_num: u8,
    pub alt_timeout: u8,
    pub rate_limit: u32,
}

impl QueuePairAttributes {
    /// Checks the values that the mask names.
    ///
    /// # Errors
    /// `EINVAL` with the attribute and its range.
    pub(super) fn check(&self, mask: AttributeMask, context: &Context) -> Result<()> {
        type M = AttributeMask;
        let ia = &context.engine.attributes.ia;
        let (reads_out, reads_in) = (ia.max_rdma_read_per_ep_out, ia.max_rdma_read_per_ep_in);
        let ranges = [
            (M::PKEY_INDEX, "pkey_index", u32::from(self.pkey_index), 0, 0),
            (M::PORT, "port_num", self.port_num.into(), PORT.into(), PORT.into()),
            (M::PATH_MTU, "path_mtu", self.path_mtu, 1, 5),
            (M::TIMEOUT, "timeout", self.timeout.into(), 0, 31),
            (M::RETRY_CNT, "retry_cnt", self.retry_cnt.into(), 0, 7),
            (M::RNR_RETRY, "rnr_retry", self.rnr_retry.into(), 0, 7),
            (M::MIN_RNR_TIMER, "min_rnr_timer", self.min_rnr_timer.into(), 0, 31),
            (M::MAX_QP_RD_ATOMIC, "max_rd_atomic", self.max_rd_atomic.into(), 0, reads_out),
            (
                M::MAX_DEST_RD_ATOMIC,
                "max_dest_rd_atomic",
                self.max_dest_rd_atomic.into(),
                0,
                reads_in,
            ),
            (M::DEST_QPN, "dest_qp_num", self.dest_qp_num, 1, 0xff_ffff),
            (M::PATH_MIG_STATE, "path_mig_state", self.path_mig_state, 0, 0),
        ];
        for (flag, name, value, least, most) in ranges {
            if mask.contains(flag) && !(least..=most).contains(&value) {
                return Err(Error::invalid(format!(
                    "cannot modify the queue pair: {name} is {value}, and must be from {least} to {most}"
                )));
            }
        }
        if mask.contains(M::ALT_PATH) {
            return Err(Error::invalid(
                "cannot modify the queue pair: the device has no alternate paths; leave IBV_QP_ALT_PATH out",
            ));
        }
        if mask.contains(M::AV) {
            self.ah_attr.check(context)?;
        }
        Ok(())
    }

    /// Takes the values that the mask names.
    pub(super) fn apply(&mut self, from: &Self, mask: AttributeMask) {
        type M = AttributeMask;
        macro_rules! take {
            ($($flag:ident $($field:ident),+;)+) => {
                $(if mask.contains(M::$flag) { $(self.$field = from.$field;)+ })+
            };
        }
        take! {
            EN_SQD_ASYNC_NOTIFY en_sqd_async_notify;
            ACCESS_FLAGS qp_access_flags;
            PKEY_INDEX pkey_index;
            PORT port_num;
            QKEY qkey;
            AV ah_attr;
            PATH_MTU path_mtu;
            TIMEOUT timeout;
            RETRY_CNT retry_cnt;
            RNR_RETRY rnr_retry;
            RQ_PSN rq_psn;
            MAX_QP_RD_ATOMIC max_rd_atomic;
            MIN_RNR_TIMER min_rnr_timer;
            SQ_PSN sq_psn;
            MAX_DEST_RD_ATOMIC max_dest_rd_atomic;
            DEST_QPN dest_qp_num;
            RATE_LIMIT rate_limit;
        }
    }
}
