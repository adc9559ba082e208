//! The stub's adapter and protection domain.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::no_transport;
use super::queues::{StubCompletions, StubPoller, StubQueuePair};
use crate::attr::{
    EpAttributes, EpCreator, IaAttributes, IovOwnership, ProviderAttributes, PzSupport,
    StreamMatrix,
};
use crate::error::Result;
use crate::flags::{CompletionFlags, MemoryTypes, Privileges, Qos};
use crate::mem::Span;
use crate::{
    Adapter, AdapterAttributes, CompletionQueueParts, CompletionSink, ListenSink, ListenerParts,
    ProtectionDomain, QueuePair, QueuePairSpec, Registration,
};

pub(super) struct StubAdapter {
    name: String,
}

impl StubAdapter {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned() }
    }

    /// The limits of the device; the core enforces each of them.
    fn interface(&self) -> IaAttributes {
        IaAttributes {
            adapter_name: self.name.clone(),
            vendor_name: "dat-core".to_owned(),
            hardware_version: (0, 1),
            firmware_version: (0, 1),
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            max_eps: 1,
            max_dto_per_ep: 1,
            max_rdma_read_per_ep_in: 0,
            max_rdma_read_per_ep_out: 0,
            max_evds: 4,
            max_evd_qlen: 16,
            max_iov_segments_per_dto: 1,
            max_lmrs: 1,
            max_lmr_block_size: 4096,
            max_lmr_virtual_address: u64::MAX,
            max_pzs: 4,
            max_message_size: 4096,
            max_rdma_size: 0,
            max_rmrs: 0,
            max_rmr_target_address: 0,
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

impl Adapter for StubAdapter {
    fn attributes(&self) -> AdapterAttributes {
        AdapterAttributes {
            ia: self.interface(),
            provider: ProviderAttributes {
                provider_name: "dat-core".to_owned(),
                provider_version: (0, 1),
                lmr_mem_types: MemoryTypes::VIRTUAL,
                iov_ownership: IovOwnership::Consumer,
                qos_supported: Qos::BEST_EFFORT,
                completion_flags_supported: CompletionFlags::SUPPRESS,
                max_private_data_size: 64,
                supports_multipath: false,
                ep_creator: EpCreator::Never,
                pz_support: PzSupport::Unique,
                optimal_buffer_alignment: 64,
                evd_stream_merging: StreamMatrix::ALL,
                srq_supported: false,
                srq_watermarks_supported: false,
                srq_ep_pz_difference_supported: false,
                lmr_sync_required: false,
                rmr_supported: false,
                rmr_scope_ep_supported: false,
                invalidate_supported: false,
                invalidate_scope_pz_supported: false,
                read_to_rmr_supported: false,
                atomics_supported: false,
                immediate_data_supported: false,
                datagrams_supported: false,
                provider_specific: Vec::new(),
            },
            default_ep: EpAttributes {
                max_message_size: 4096,
                max_recv_dtos: 1,
                max_request_dtos: 1,
                max_recv_iov: 1,
                max_request_iov: 1,
                ..EpAttributes::default()
            },
            completion_scope: None,
        }
    }

    fn create_domain(&self) -> Result<Arc<dyn ProtectionDomain>> {
        Ok(Arc::new(StubDomain))
    }

    fn create_completion_queue(
        &self,
        _depth: usize,
        _sink: Arc<dyn CompletionSink>,
    ) -> Result<CompletionQueueParts> {
        Ok(CompletionQueueParts { queue: Arc::new(StubCompletions), poller: Box::new(StubPoller) })
    }

    fn create_queue_pair(&self, _spec: QueuePairSpec) -> Result<Box<dyn QueuePair>> {
        Ok(Box::new(StubQueuePair))
    }

    fn listen(&self, _qualifier: Option<u64>, _sink: Arc<dyn ListenSink>) -> Result<ListenerParts> {
        Err(no_transport("listening"))
    }
}

struct StubDomain;

impl ProtectionDomain for StubDomain {
    fn register(&self, _span: Span, _privileges: Privileges) -> Result<Registration> {
        Err(no_transport("memory registration"))
    }
}
