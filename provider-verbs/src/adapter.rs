//! An open adapter, which creates every other object.

use std::sync::Arc;

use dat_provider::attr::{EpAttributes, IaAttributes, NamedAttr, ProviderAttributes};
use dat_provider::error::Result;
use dat_provider::flags::{CompletionFlags, MemoryTypes, Qos};
use dat_provider::{
    Adapter, AdapterAttributes, CompletionQueueParts, CompletionSink, DeviceCounters, ListenSink,
    ListenerParts, ProtectionDomain, QueuePair, QueuePairSpec, SharedReceiveLimits,
    SharedReceiveQueue, SharedReceiveSink,
};

use crate::device::{Device, INTERNAL_REQUESTS};
use crate::provider::DESCRIPTION;
use crate::{completion_queue, domain, listener, queue_pair, reject_data, shared_receive};

/// Maximum number of segments of a post that the core gathers.
const MOST_SEGMENTS: u32 = 32;

/// Maximum length in bytes of a request's private data on InfiniBand and RoCE: 92 bytes of the
/// request, less 36 in which the connection manager stores the addresses.
const PRIVATE_DATA: u32 = 56;

/// Maximum length in bytes on iWARP: the connection manager counts it in eight bits, and the read
/// depths of both sides (RFC 6581) take four bytes.
const PRIVATE_DATA_IWARP: u32 = 255 - 4;

pub(crate) struct VerbsAdapter {
    name: String,
    device: Arc<Device>,
}

impl VerbsAdapter {
    pub(crate) fn new(name: &str, device: Arc<Device>) -> Self {
        Self { name: name.to_owned(), device }
    }
}

impl Adapter for VerbsAdapter {
    fn attributes(&self) -> AdapterAttributes {
        AdapterAttributes {
            ia: self.interface(),
            provider: self.provider(),
            default_ep: self.default_ep(),
            // Instances of one device share its context.
            completion_scope: Some(self.device.engine.number),
        }
    }

    fn counters(&self) -> DeviceCounters {
        self.device.counters.read()
    }

    fn create_domain(&self) -> Result<Arc<dyn ProtectionDomain>> {
        domain::create(&self.device)
    }

    fn create_completion_queue(
        &self,
        depth: usize,
        sink: Arc<dyn CompletionSink>,
    ) -> Result<CompletionQueueParts> {
        completion_queue::create(&self.device, depth, sink)
    }

    fn create_queue_pair(&self, spec: QueuePairSpec) -> Result<Box<dyn QueuePair>> {
        spec.check_needed_by_dat()?;
        queue_pair::create(&self.device, &spec)
    }

    fn create_shared_receive_queue(
        &self,
        domain: Arc<dyn ProtectionDomain>,
        limits: SharedReceiveLimits,
        sink: Arc<dyn SharedReceiveSink>,
    ) -> Result<Arc<dyn SharedReceiveQueue>> {
        shared_receive::create(&self.device, &*domain, limits, sink)
    }

    fn listen(&self, qualifier: Option<u64>, sink: Arc<dyn ListenSink>) -> Result<ListenerParts> {
        listener::listen(&self.device, qualifier, sink)
    }
}

impl VerbsAdapter {
    /// Maximum number of outstanding operations: limited by the work queue and the completion queue
    /// of the device.
    fn max_posts(&self) -> u32 {
        let limits = &self.device.limits;
        // Both directions may complete on one dispatcher.
        let completions =
            if limits.has_resize { limits.max_cqe } else { completion_queue::FIXED / 2 };
        limits.max_qp_wr.min(completions).saturating_sub(INTERNAL_REQUESTS).max(1)
    }

    /// Maximum number of segments of a post: DAT has one limit for endpoints and shared receive
    /// queues.
    fn max_segments(&self) -> u32 {
        let limits = &self.device.limits;
        let shared = if limits.max_srq > 0 { limits.max_srq_sge } else { u32::MAX };
        limits.max_sge.min(shared).clamp(1, MOST_SEGMENTS)
    }

    fn interface(&self) -> IaAttributes {
        let limits = &self.device.limits;
        let segments = self.max_segments();
        let message = u64::from(limits.max_message);
        IaAttributes {
            adapter_name: self.name.clone(),
            vendor_name: format!("{} {:#x}", self.device.context().name(), limits.vendor),
            hardware_version: (limits.part, limits.hardware),
            firmware_version: firmware_version(&limits.firmware),
            address: self.device.address.ip().into(),
            max_eps: limits.max_qp,
            max_dto_per_ep: self.max_posts(),
            max_rdma_read_per_ep_in: limits.max_reads_in,
            max_rdma_read_per_ep_out: limits.max_reads_out,
            max_evds: limits.max_cq,
            max_evd_qlen: limits.max_cqe,
            max_iov_segments_per_dto: segments,
            max_lmrs: limits.max_mr,
            max_lmr_block_size: limits.max_mr_size.min(isize::MAX as u64),
            max_pzs: limits.max_pd,
            max_message_size: message,
            max_rdma_size: message,
            max_rmrs: limits.max_mw,
            max_srqs: limits.max_srq,
            max_ep_per_srq: limits.max_qp,
            max_recv_per_srq: limits.max_srq_wr.min(match limits.has_resize {
                true => limits.max_cqe,
                false => self.max_posts(),
            }),
            max_iov_segments_per_rdma_read: limits.max_sge_rd.clamp(1, segments),
            max_iov_segments_per_rdma_write: segments,
            max_rdma_read_in: limits.max_reads_in.saturating_mul(limits.max_qp),
            max_rdma_read_out: limits.max_reads_out.saturating_mul(limits.max_qp),
            transport: vec![
                NamedAttr::new("DEVICE", self.device.context().name()),
                NamedAttr::new("PORT", self.device.port.to_string()),
                NamedAttr::new("MAX_DATAGRAM", limits.mtu.to_string()),
            ],
            vendor: vec![NamedAttr::new("FIRMWARE", limits.firmware.clone())],
            ..IaAttributes::default()
        }
    }

    fn provider(&self) -> ProviderAttributes {
        let limits = &self.device.limits;
        ProviderAttributes {
            provider_name: DESCRIPTION.vendor.to_owned(),
            provider_version: DESCRIPTION.version,
            lmr_mem_types: MemoryTypes::all(),
            qos_supported: Qos::all(),
            completion_flags_supported: CompletionFlags::all()
                - CompletionFlags::LMR_INVALIDATE_FENCE,
            max_private_data_size: if limits.is_iwarp {
                PRIVATE_DATA_IWARP - reject_data::OVERHEAD as u32
            } else {
                PRIVATE_DATA
            },
            optimal_buffer_alignment: 256,
            srq_supported: limits.max_srq > 0,
            srq_watermarks_supported: limits.max_srq > 0,
            srq_ep_pz_difference_supported: !limits.quirks.checks_domain_of_shared_receives,
            rmr_supported: limits.has_windows_one,
            rmr_scope_ep_supported: limits.has_windows_two,
            invalidate_supported: limits.has_windows_two && limits.has_invalidate,
            // A peer can invalidate only windows of one queue pair. An RDMA read uses local keys,
            // which windows do not have.
            invalidate_scope_pz_supported: false,
            read_to_rmr_supported: false,
            atomics_supported: limits.has_atomics,
            immediate_data_supported: !limits.is_iwarp,
            datagrams_supported: !limits.is_iwarp,
            // With the names that programs look for.
            provider_specific: vec![
                NamedAttr::new("DAT_IB_DEVICE_NAME", self.device.context().name()),
                NamedAttr::new("DAT_IB_PORT_NUMBER", self.device.port.to_string()),
                NamedAttr::new("DAT_IB_TRANSPORT_MTU", limits.mtu.to_string()),
                NamedAttr::new("DAT_IB_RDMA_READ", truth(limits.max_reads_out > 0)),
            ],
            ..ProviderAttributes::default()
        }
    }

    fn default_ep(&self) -> EpAttributes {
        let limits = &self.device.limits;
        let operations = self.max_posts().min(64);
        let segments = self.max_segments().min(4);
        EpAttributes {
            max_message_size: u64::from(limits.max_message),
            max_rdma_size: u64::from(limits.max_message),
            max_recv_dtos: operations,
            max_request_dtos: operations,
            max_recv_iov: segments,
            max_request_iov: segments,
            max_rdma_read_in: limits.max_reads_in.min(16),
            max_rdma_read_out: limits.max_reads_out.min(16),
            ..EpAttributes::default()
        }
    }
}

/// The text of a boolean in named attributes.
const fn truth(is_so: bool) -> &'static str {
    if is_so { "TRUE" } else { "FALSE" }
}

/// Major and minor number of a firmware version; devices report two to four numbers.
fn firmware_version(text: &str) -> (u32, u32) {
    let mut numbers = text.split(['.', ' ', '-']).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn firmware_versions_have_two_numbers() {
        assert_eq!(firmware_version("20.35.1012"), (20, 35));
        assert_eq!(firmware_version("7"), (7, 0));
        assert_eq!(firmware_version(""), (0, 0));
    }
}
