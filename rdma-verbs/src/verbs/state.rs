//! The states of a queue pair (ibv_modify_qp(3)).

use std::mem::MaybeUninit;

use super::values::values;
use super::{Access, AddressVector, Error, QueuePair, QueuePairType, Result, field, library};
use crate::sys::verbs::{self as sys, ibv_qp_attr, ibv_qp_init_attr};

values! {
    /// The state of a queue pair.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum QueuePairState;
    /// Nothing can be posted.
    Reset = IBV_QPS_RESET;
    /// Receives can be posted.
    Init = IBV_QPS_INIT;
    /// It receives.
    ReadyToReceive = IBV_QPS_RTR;
    /// It receives and sends.
    ReadyToSend = IBV_QPS_RTS;
    /// It receives, and starts no further request.
    SendQueueDrained = IBV_QPS_SQD;
    /// A request of a queue pair that is not a reliable connection failed, and later ones are
    /// flushed.
    SendQueueError = IBV_QPS_SQE;
    /// All posts are flushed.
    Error = IBV_QPS_ERR;
}

impl QueuePairState {
    /// Returns true if requests can be posted, even if they are only flushed.
    pub(super) const fn can_send(self) -> bool {
        !matches!(self, Self::Reset | Self::Init | Self::ReadyToReceive)
    }

    /// Returns true if receives can be posted.
    pub(super) const fn can_receive(self) -> bool {
        !matches!(self, Self::Reset)
    }
}

/// The largest payload of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mtu {
    /// 256 bytes.
    Bytes256,
    /// 512 bytes.
    Bytes512,
    /// 1024 bytes.
    #[default]
    Bytes1024,
    /// 2048 bytes.
    Bytes2048,
    /// 4096 bytes.
    Bytes4096,
}

impl Mtu {
    /// Converts a C code; 256 bytes, which every port supports, for an unknown one.
    pub(super) const fn from_code(code: u32) -> Self {
        match code {
            2 => Self::Bytes512,
            3 => Self::Bytes1024,
            4 => Self::Bytes2048,
            5 => Self::Bytes4096,
            _ => Self::Bytes256,
        }
    }

    /// The code that C and the connection manager use.
    #[must_use]
    pub const fn code(self) -> u32 {
        self as u32 + 1
    }

    /// The number of bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        128 << self.code()
    }
}

/// The service of a queue pair that receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// A connection whose peer may make these accesses.
    Connected(Access),
    /// Datagrams with that queue key.
    Datagram(u32),
}

/// The parameters of the receiving side. A datagram queue pair uses none of them, an unreliable
/// connection all except the last two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveSide {
    /// The port of the peer.
    pub address: AddressVector,
    /// The largest payload of a packet.
    pub mtu: Mtu,
    /// The number of the peer's queue pair.
    pub peer: u32,
    /// The sequence number of the first packet that arrives, in 24 bits.
    pub packet_number: u32,
    /// Number of the peer's RDMA reads and atomics that are served at a time.
    pub responder_resources: u8,
    /// The code of the time that the peer waits if there is no receive (ibv_modify_qp(3)); 12 is
    /// 0.64 ms.
    pub rnr_timer: u8,
}

/// The parameters of the sending side. Without a reliable connection only the first one is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendSide {
    /// The sequence number of the first packet that is sent, in 24 bits.
    pub packet_number: u32,
    /// The acknowledgement time-out, as an exponent: 4.096 µs times two to this power.
    pub timeout: u8,
    /// Number of retries without an acknowledgement, up to 7.
    pub retry_count: u8,
    /// Number of retries while the peer has no receive; 7 for no limit.
    pub rnr_retry_count: u8,
    /// Number of RDMA reads and atomics that may be in flight at a time.
    pub initiator_depth: u8,
}

impl Default for SendSide {
    fn default() -> Self {
        Self {
            packet_number: 0,
            timeout: 14,
            retry_count: 7,
            rnr_retry_count: 7,
            initiator_depth: 1,
        }
    }
}

impl QueuePair {
    /// The state that the device reports (ibv_query_qp(3)).
    ///
    /// # Errors
    /// The error of the device.
    pub fn state(&self) -> Result<QueuePairState> {
        let mut attributes = ibv_qp_attr::default();
        let mut init = MaybeUninit::<ibv_qp_init_attr>::zeroed();
        // SAFETY: the queue pair is alive and the pointers valid.
        let code = unsafe {
            let call = library!(verbs).ibv_query_qp;
            call(self.raw(), &raw mut attributes, sys::IBV_QP_STATE, init.as_mut_ptr())
        };
        Error::check("ibv_query_qp", code).map_err(|error| error.on(self.error_object()))?;
        Ok(QueuePairState::new(attributes.qp_state))
    }

    /// The state to which this process last moved it, which the library remembers.
    pub(super) fn cached_state(&self) -> QueuePairState {
        QueuePairState::new(field!(self.raw(), state))
    }

    /// Moves it from reset to the state init, on a port: receives can be posted.
    ///
    /// # Errors
    /// `EINVAL`: it is not in the state reset, the port does not exist, or the service does not fit
    /// its kind.
    pub fn to_init(&self, port: u8, pkey_index: u16, service: Service) -> Result<()> {
        let mut attributes = ibv_qp_attr { port_num: port, pkey_index, ..at(sys::IBV_QPS_INIT) };
        let mask = sys::IBV_QP_STATE | sys::IBV_QP_PKEY_INDEX | sys::IBV_QP_PORT;
        let mask = match service {
            Service::Connected(access) => {
                attributes.qp_access_flags = access.bits();
                mask | sys::IBV_QP_ACCESS_FLAGS
            }
            Service::Datagram(key) => {
                attributes.qkey = key;
                mask | sys::IBV_QP_QKEY
            }
        };
        self.modify_raw(&attributes, mask)
    }

    /// Moves it from init to the state ready to receive.
    ///
    /// # Errors
    /// `EINVAL`: it is not in the state init, or the device does not support an attribute.
    pub fn to_ready_to_receive(&self, side: &ReceiveSide) -> Result<()> {
        let attributes = ibv_qp_attr {
            ah_attr: side.address.to_c(),
            path_mtu: side.mtu.code(),
            dest_qp_num: side.peer,
            rq_psn: side.packet_number,
            max_dest_rd_atomic: side.responder_resources,
            min_rnr_timer: side.rnr_timer,
            ..at(sys::IBV_QPS_RTR)
        };
        const CONNECTED: i32 =
            sys::IBV_QP_AV | sys::IBV_QP_PATH_MTU | sys::IBV_QP_DEST_QPN | sys::IBV_QP_RQ_PSN;
        const RELIABLE: i32 = sys::IBV_QP_MAX_DEST_RD_ATOMIC | sys::IBV_QP_MIN_RNR_TIMER;
        self.modify_raw(&attributes, sys::IBV_QP_STATE | self.of_kind(0, CONNECTED, RELIABLE))
    }

    /// Moves it from ready to receive to the state ready to send.
    ///
    /// # Errors
    /// As [`to_ready_to_receive`](Self::to_ready_to_receive), for the state ready to receive.
    pub fn to_ready_to_send(&self, side: &SendSide) -> Result<()> {
        let attributes = ibv_qp_attr {
            sq_psn: side.packet_number,
            timeout: side.timeout,
            retry_cnt: side.retry_count,
            rnr_retry: side.rnr_retry_count,
            max_rd_atomic: side.initiator_depth,
            ..at(sys::IBV_QPS_RTS)
        };
        const RELIABLE: i32 = sys::IBV_QP_TIMEOUT
            | sys::IBV_QP_RETRY_CNT
            | sys::IBV_QP_RNR_RETRY
            | sys::IBV_QP_MAX_QP_RD_ATOMIC;
        let mask = sys::IBV_QP_STATE | self.of_kind(sys::IBV_QP_SQ_PSN, 0, RELIABLE);
        self.modify_raw(&attributes, mask)
    }

    /// Moves it back from the state send queue error to ready to send.
    ///
    /// # Errors
    /// `EINVAL`: it is in another state.
    pub fn recover_send_queue(&self) -> Result<()> {
        let attributes = ibv_qp_attr { cur_qp_state: sys::IBV_QPS_SQE, ..at(sys::IBV_QPS_RTS) };
        self.modify_raw(&attributes, sys::IBV_QP_STATE | sys::IBV_QP_CUR_STATE)
    }

    /// Makes the device start no further request (`IBV_QPS_SQD`).
    ///
    /// # Errors
    /// `EINVAL`: it is not ready to send.
    pub fn drain_send_queue(&self) -> Result<()> {
        self.modify_raw(&at(sys::IBV_QPS_SQD), sys::IBV_QP_STATE)
    }

    /// Moves it to the error state: posts in flight, and later ones, are flushed.
    ///
    /// # Errors
    /// The error of the device.
    pub fn set_error(&self) -> Result<()> {
        self.modify_raw(&at(sys::IBV_QPS_ERR), sys::IBV_QP_STATE)
    }

    /// Moves it back to the state reset. Posts in flight never complete.
    ///
    /// # Errors
    /// The error of the device.
    pub fn reset(&self) -> Result<()> {
        self.modify_raw(&at(sys::IBV_QPS_RESET), sys::IBV_QP_STATE)?;
        self.records().sends.clear();
        self.records().receives.clear();
        Ok(())
    }

    /// Changes the attributes in the mask (ibv_modify_qp(3)).
    ///
    /// # Errors
    /// `EINVAL`: the state does not allow it, an attribute is missing, or the device does not
    /// support its value.
    pub fn modify_raw(&self, attributes: &ibv_qp_attr, mask: i32) -> Result<()> {
        let mut attributes = *attributes;
        // SAFETY: the queue pair is alive and the attributes are a copy.
        let code =
            unsafe { (library!(verbs).ibv_modify_qp)(self.raw(), &raw mut attributes, mask) };
        Error::check("ibv_modify_qp", code).map_err(|error| error.on(self.error_object()))
    }

    /// The mask for its kind, from the attributes of all kinds, of connections and of reliable
    /// ones.
    pub(super) fn of_kind(&self, all: i32, connected: i32, reliable: i32) -> i32 {
        match self.queue_pair_type() {
            QueuePairType::Ud => all,
            QueuePairType::Uc => all | connected,
            QueuePairType::Rc => all | connected | reliable,
        }
    }
}

/// Attributes that move a queue pair to the state.
fn at(qp_state: u32) -> ibv_qp_attr {
    ibv_qp_attr { qp_state, ..ibv_qp_attr::default() }
}
