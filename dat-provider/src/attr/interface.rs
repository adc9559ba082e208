//! The attributes of an interface adapter.

use super::NamedAttr;
use crate::Address;

/// The identity and the limits of an adapter (`DAT_IA_ATTR`; dat_ia_query(3DAT)). A provider
/// names the fields that differ from [`Default`], so that it still compiles when one is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IaAttributes {
    /// The name that the adapter was opened by.
    pub adapter_name: String,
    /// The manufacturer of the adapter.
    pub vendor_name: String,
    /// Version of the hardware, major and minor.
    pub hardware_version: (u32, u32),
    /// Version of the firmware, major and minor.
    pub firmware_version: (u32, u32),
    /// The address by which peers reach it.
    pub address: Address,
    /// Maximum number of endpoints.
    pub max_eps: u32,
    /// Maximum number of outstanding operations of one endpoint in one direction.
    pub max_dto_per_ep: u32,
    /// Maximum number of incoming RDMA reads in flight on one endpoint.
    pub max_rdma_read_per_ep_in: u32,
    /// Maximum number of outgoing RDMA reads in flight on one endpoint.
    pub max_rdma_read_per_ep_out: u32,
    /// Maximum number of event dispatchers.
    pub max_evds: u32,
    /// Maximum number of events in one event dispatcher.
    pub max_evd_qlen: u32,
    /// Maximum number of segments of a send or receive.
    pub max_iov_segments_per_dto: u32,
    /// Maximum number of local memory regions.
    pub max_lmrs: u32,
    /// Maximum length of one local memory region, in bytes.
    pub max_lmr_block_size: u64,
    /// The highest virtual address in a local memory region.
    pub max_lmr_virtual_address: u64,
    /// Maximum number of protection zones.
    pub max_pzs: u32,
    /// Maximum length of one message, in bytes.
    pub max_message_size: u64,
    /// Maximum length of one RDMA transfer, in bytes.
    pub max_rdma_size: u64,
    /// Maximum number of remote memory regions.
    pub max_rmrs: u32,
    /// The highest virtual address in a remote memory region.
    pub max_rmr_target_address: u64,
    /// Maximum number of shared receive queues; 0 if the provider has none.
    pub max_srqs: u32,
    /// Maximum number of endpoints that use one shared receive queue.
    pub max_ep_per_srq: u32,
    /// Maximum number of buffers in one shared receive queue.
    pub max_recv_per_srq: u32,
    /// Maximum number of segments of an RDMA read.
    pub max_iov_segments_per_rdma_read: u32,
    /// Maximum number of segments of an RDMA write.
    pub max_iov_segments_per_rdma_write: u32,
    /// Maximum number of incoming RDMA reads in flight on all endpoints together.
    pub max_rdma_read_in: u32,
    /// Maximum number of outgoing RDMA reads in flight on all endpoints together.
    pub max_rdma_read_out: u32,
    /// True if every endpoint can use its incoming maximum at the same time.
    pub max_rdma_read_per_ep_in_guaranteed: bool,
    /// True if every endpoint can use its outgoing maximum at the same time.
    pub max_rdma_read_per_ep_out_guaranteed: bool,
    /// True if zero-based addressing of memory regions is supported.
    pub zero_based_supported: bool,
    /// Attributes specific to the transport.
    pub transport: Vec<NamedAttr>,
    /// Attributes specific to the vendor.
    pub vendor: Vec<NamedAttr>,
}

/// An adapter with no object of any kind, so that each limit is stated by its provider. Any address
/// of memory may be registered, and each endpoint can use its maximum of RDMA reads.
impl Default for IaAttributes {
    fn default() -> Self {
        Self {
            adapter_name: String::new(),
            vendor_name: String::new(),
            hardware_version: (0, 0),
            firmware_version: (0, 0),
            address: Address::UNSPECIFIED,
            max_eps: 0,
            max_dto_per_ep: 0,
            max_rdma_read_per_ep_in: 0,
            max_rdma_read_per_ep_out: 0,
            max_evds: 0,
            max_evd_qlen: 0,
            max_iov_segments_per_dto: 0,
            max_lmrs: 0,
            max_lmr_block_size: 0,
            max_lmr_virtual_address: u64::MAX,
            max_pzs: 0,
            max_message_size: 0,
            max_rdma_size: 0,
            max_rmrs: 0,
            max_rmr_target_address: u64::MAX,
            max_srqs: 0,
            max_ep_per_srq: 0,
            max_recv_per_srq: 0,
            max_iov_segments_per_rdma_read: 0,
            max_iov_segments_per_rdma_write: 0,
            max_rdma_read_in: 0,
            max_rdma_read_out: 0,
            max_rdma_read_per_ep_in_guaranteed: true,
            max_rdma_read_per_ep_out_guaranteed: true,
            zero_based_supported: false,
            transport: Vec::new(),
            vendor: Vec::new(),
        }
    }
}
