//! The attributes of an endpoint.

use super::NamedAttr;
use crate::flags::{CompletionFlags, Qos};

/// The configuration of an endpoint (`DAT_EP_ATTR`; dat_ep_create(3DAT)).
///
/// Start from `Ia::default_ep_attributes` and change what you need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EpAttributes {
    /// The transport service (`DAT_SERVICE_TYPE`): 0 is a reliable connection, 1 is datagrams
    /// (`DAT_IB_SERVICE_TYPE_UD`).
    pub service_type: u32,
    /// The longest message that is sent or received, in bytes; 0 means the adapter's default. An
    /// endpoint that carries connections without a shared receive queue always has the adapter's
    /// maximum.
    pub max_message_size: u64,
    /// The longest RDMA transfer, in bytes; 0 means the adapter's default.
    pub max_rdma_size: u64,
    /// The quality of service.
    pub qos: Qos,
    /// How receives notify: no flag, `UNSIGNALLED`, `SOLICITED_WAIT` or `EVD_THRESHOLD`.
    pub recv_completion_flags: CompletionFlags,
    /// How requests notify: no flag, `UNSIGNALLED` or `EVD_THRESHOLD`. `SUPPRESS`, `SOLICITED_WAIT`
    /// and `BARRIER_FENCE` are flags of single requests and have no effect here.
    pub request_completion_flags: CompletionFlags,
    /// Maximum number of outstanding receives.
    pub max_recv_dtos: u32,
    /// Maximum number of outstanding sends, RDMA operations and binds together.
    pub max_request_dtos: u32,
    /// Maximum number of segments of a receive; ignored with a shared receive queue.
    pub max_recv_iov: u32,
    /// Maximum number of segments of a send. Without a shared receive queue, sends, RDMA reads and
    /// RDMA writes all get the largest of their three maxima.
    pub max_request_iov: u32,
    /// Maximum number of outstanding RDMA reads by the peer.
    pub max_rdma_read_in: u32,
    /// Maximum number of outstanding RDMA reads to the peer.
    pub max_rdma_read_out: u32,
    /// The soft high watermark: the number of buffers taken from a shared receive queue above which
    /// an event is raised; 0 and `u32::MAX` (`DAT_HW_DEFAULT`) mean none. Ignored without such a
    /// queue.
    pub srq_soft_hw: u32,
    /// Maximum number of segments of an RDMA read; 0 means `max_request_iov`.
    pub max_rdma_read_iov: u32,
    /// Maximum number of segments of an RDMA write; 0 means `max_request_iov`.
    pub max_rdma_write_iov: u32,
    /// Attributes specific to the transport.
    pub transport_specific: Vec<NamedAttr>,
    /// Attributes specific to the provider.
    pub provider_specific: Vec<NamedAttr>,
}

impl EpAttributes {
    /// A reliable connection (`DAT_SERVICE_TYPE_RC`).
    pub const SERVICE_CONNECTION: u32 = 0;
    /// Datagrams (`DAT_IB_SERVICE_TYPE_UD`).
    pub const SERVICE_DATAGRAM: u32 = 1;
}
