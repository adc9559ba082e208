//! The attributes of an endpoint.

use super::NamedAttr;
use crate::flags::{CompletionFlags, Qos};

/// What an endpoint is made for (`DAT_EP_ATTR`; dat_ep_create(3DAT)).
///
/// Start from `InterfaceAdapter::default_ep_attributes` and change what matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EpAttributes {
    /// The service of the transport (`DAT_SERVICE_TYPE`): 0 is a reliable connection, 1 are
    /// datagrams (`DAT_IB_SERVICE_TYPE_UD`).
    pub service_type: u32,
    /// The longest message that is sent or received, in bytes; 0 stands for the adapter's. An
    /// endpoint that carries connections without a shared receive queue always has the adapter's.
    pub max_message_size: u64,
    /// The longest RDMA transfer, in bytes; as for `max_message_size`.
    pub max_rdma_size: u64,
    /// The quality of service.
    pub qos: Qos,
    /// How receives notify: none, `UNSIGNALLED`, `SOLICITED_WAIT` or `EVD_THRESHOLD`.
    pub recv_completion_flags: CompletionFlags,
    /// How requests notify: none, `UNSIGNALLED` or `EVD_THRESHOLD`. `SUPPRESS`,
    /// `SOLICITED_WAIT` and `BARRIER_FENCE`, which every request can have, have no effect here.
    pub request_completion_flags: CompletionFlags,
    /// How many receives may be outstanding.
    pub max_recv_dtos: u32,
    /// How many sends, RDMA operations and binds may be outstanding together.
    pub max_request_dtos: u32,
    /// How many segments a receive may have; of no effect with a shared receive queue.
    pub max_recv_iov: u32,
    /// How many segments a send may have. Without a shared receive queue sends, RDMA reads and
    /// RDMA writes may have as many as the longest of the three.
    pub max_request_iov: u32,
    /// How many RDMA reads of the peer may be outstanding.
    pub max_rdma_read_in: u32,
    /// How many RDMA reads to the peer may be outstanding.
    pub max_rdma_read_out: u32,
    /// The soft high watermark of buffers taken from a shared receive queue; 0 and `u32::MAX`
    /// (`DAT_HW_DEFAULT`) are none. It means nothing without such a queue.
    pub srq_soft_hw: u32,
    /// How many segments an RDMA read may have; 0 stands for `max_request_iov`.
    pub max_rdma_read_iov: u32,
    /// How many segments an RDMA write may have; 0 stands for `max_request_iov`.
    pub max_rdma_write_iov: u32,
    /// Attributes that only the transport knows.
    pub transport_specific: Vec<NamedAttr>,
    /// Attributes that only the provider knows.
    pub provider_specific: Vec<NamedAttr>,
}

impl EpAttributes {
    /// A reliable connection (`DAT_SERVICE_TYPE_RC`).
    pub const SERVICE_CONNECTION: u32 = 0;
    /// Datagrams (`DAT_IB_SERVICE_TYPE_UD`).
    pub const SERVICE_DATAGRAM: u32 = 1;
}
