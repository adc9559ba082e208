//! The attributes of an interface adapter.

use std::net::IpAddr;

use super::NamedAttr;

/// What an adapter is and how much it can hold (`DAT_IA_ATTR`; dat_ia_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IaAttributes {
    /// The name that the adapter was opened by.
    pub adapter_name: String,
    /// Who makes the adapter.
    pub vendor_name: String,
    /// Version of the hardware, major and minor.
    pub hardware_version: (u32, u32),
    /// Version of the firmware, major and minor.
    pub firmware_version: (u32, u32),
    /// The address by which others reach it.
    pub address: IpAddr,
    /// Endpoints.
    pub max_eps: u32,
    /// Outstanding operations of one endpoint and direction.
    pub max_dto_per_ep: u32,
    /// Incoming RDMA reads of one endpoint.
    pub max_rdma_read_per_ep_in: u32,
    /// Outgoing RDMA reads of one endpoint.
    pub max_rdma_read_per_ep_out: u32,
    /// Event dispatchers.
    pub max_evds: u32,
    /// Events of one event dispatcher.
    pub max_evd_qlen: u32,
    /// Segments of a send or receive.
    pub max_iov_segments_per_dto: u32,
    /// Local memory regions.
    pub max_lmrs: u32,
    /// Bytes of one local memory region.
    pub max_lmr_block_size: u64,
    /// The highest address of a local memory region.
    pub max_lmr_virtual_address: u64,
    /// Protection zones.
    pub max_pzs: u32,
    /// Bytes of one message.
    pub max_message_size: u64,
    /// Bytes of one RDMA transfer.
    pub max_rdma_size: u64,
    /// Remote memory regions.
    pub max_rmrs: u32,
    /// The highest address of a remote memory region.
    pub max_rmr_target_address: u64,
    /// Shared receive queues; 0 where the provider has none.
    pub max_srqs: u32,
    /// Endpoints of one shared receive queue.
    pub max_ep_per_srq: u32,
    /// Buffers of one shared receive queue.
    pub max_recv_per_srq: u32,
    /// Segments of an RDMA read.
    pub max_iov_segments_per_rdma_read: u32,
    /// Segments of an RDMA write.
    pub max_iov_segments_per_rdma_write: u32,
    /// Incoming RDMA reads of all endpoints together.
    pub max_rdma_read_in: u32,
    /// Outgoing RDMA reads of all endpoints together.
    pub max_rdma_read_out: u32,
    /// Whether every endpoint can have its incoming maximum at the same time.
    pub max_rdma_read_per_ep_in_guaranteed: bool,
    /// Whether every endpoint can have its outgoing maximum at the same time.
    pub max_rdma_read_per_ep_out_guaranteed: bool,
    /// Whether memory can be addressed from zero.
    pub zero_based_supported: bool,
    /// Attributes that only the transport knows.
    pub transport: Vec<NamedAttr>,
    /// Attributes that only the vendor knows.
    pub vendor: Vec<NamedAttr>,
}
