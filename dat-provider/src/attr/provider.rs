//! The attributes of a provider.

use super::NamedAttr;
use crate::flags::{CompletionFlags, EvdFlags, MemoryTypes, Qos};

/// The owner of the segment list after a post returns (`DAT_IOV_OWNERSHIP`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IovOwnership {
    /// The consumer, as soon as the post returns.
    Consumer,
    /// The provider until the completion; it does not change the list.
    ProviderNoModify,
    /// The provider until the completion; it may change the list.
    ProviderModify,
}

/// Which side creates the endpoint for a request on a public service point
/// (`DAT_EP_CREATOR_FOR_PSP`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EpCreator {
    /// Only the consumer.
    Never,
    /// The provider, on request.
    OnRequest,
    /// Always the provider.
    Always,
}

/// The sharing of protection zones between instances (`DAT_PZ_SUPPORT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PzSupport {
    /// Each zone belongs to one open instance.
    Unique,
    /// Zones may be shared between instances.
    Shareable,
}

/// Which pairs of event streams may feed one event dispatcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamMerging(pub [[bool; 6]; 6]);

impl StreamMerging {
    /// The streams in the order of the rows and columns.
    pub const STREAMS: [EvdFlags; 6] = [
        EvdFlags::SOFTWARE,
        EvdFlags::CONNECTION_REQUEST,
        EvdFlags::DTO,
        EvdFlags::CONNECTION,
        EvdFlags::RMR_BIND,
        EvdFlags::ASYNC,
    ];

    /// Every stream with every other.
    pub const ALL: Self = Self([[true; 6]; 6]);

    /// The first pair among the streams that may not be merged.
    #[must_use]
    pub fn conflict(&self, flags: EvdFlags) -> Option<(EvdFlags, EvdFlags)> {
        let chosen = |index: usize| flags.contains(Self::STREAMS[index]);
        for row in (0..6).filter(|&row| chosen(row)) {
            for column in (0..6).filter(|&column| column != row && chosen(column)) {
                if !self.0[row][column] {
                    return Some((Self::STREAMS[row], Self::STREAMS[column]));
                }
            }
        }
        None
    }
}

/// The properties of a provider, besides the limits of the adapter
/// (`DAT_PROVIDER_ATTR`; dat_ia_query(3DAT)). A provider names the fields that differ from
/// [`Default`], so that it still compiles when one is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderAttributes {
    /// The provider's vendor.
    pub provider_name: String,
    /// Version of the provider, major and minor.
    pub provider_version: (u32, u32),
    /// Kinds of memory that it can register.
    pub lmr_mem_types: MemoryTypes,
    /// The owner of segment lists after a post.
    pub iov_ownership: IovOwnership,
    /// Qualities of service that it offers besides best effort.
    pub qos_supported: Qos,
    /// Completion flags that posts and endpoints may use.
    pub completion_flags_supported: CompletionFlags,
    /// Maximum length of the private data of a connect, accept or reject, in bytes.
    pub max_private_data_size: u32,
    /// True if connections may use several paths.
    pub supports_multipath: bool,
    /// Which side creates endpoints for public service points.
    pub ep_creator: EpCreator,
    /// The sharing of protection zones between instances.
    pub pz_support: PzSupport,
    /// The buffer alignment with the best performance, in bytes; divides 256.
    pub optimal_buffer_alignment: u32,
    /// Which event streams may share an event dispatcher.
    pub evd_stream_merging: StreamMerging,
    /// True if it has shared receive queues.
    pub srq_supported: bool,
    /// True if shared receive queues and endpoints have watermarks.
    pub srq_watermarks_supported: bool,
    /// True if the protection zone of an endpoint may differ from that of its shared receive queue.
    pub srq_ep_pz_difference_supported: bool,
    /// True if RDMA memory needs the sync calls (dat_lmr_sync_rdma_read, dat_lmr_sync_rdma_write).
    pub lmr_sync_required: bool,
    /// True if remote memory regions can be bound.
    pub rmr_supported: bool,
    /// True if a remote memory region can be restricted to the endpoint that binds it.
    pub rmr_scope_ep_supported: bool,
    /// True if a send can invalidate a remote memory region of the peer.
    pub invalidate_supported: bool,
    /// True if it can also invalidate regions with the scope of a protection zone.
    pub invalidate_scope_pz_supported: bool,
    /// True if an RDMA read can target local memory named by an RMR context.
    pub read_to_rmr_supported: bool,
    /// True if it has atomic fetch-and-add and compare-and-swap.
    pub atomics_supported: bool,
    /// True if endpoints can carry datagrams.
    pub datagrams_supported: bool,
    /// True if RDMA writes can carry immediate data.
    pub immediate_data_supported: bool,
    /// Attributes specific to the provider.
    pub provider_specific: Vec<NamedAttr>,
}

/// The properties of every provider with the core's help, without anything that is optional.
impl Default for ProviderAttributes {
    fn default() -> Self {
        Self {
            provider_name: String::new(),
            provider_version: (0, 0),
            lmr_mem_types: MemoryTypes::VIRTUAL,
            iov_ownership: IovOwnership::Consumer,
            qos_supported: Qos::BEST_EFFORT,
            completion_flags_supported: CompletionFlags::SUPPRESS,
            max_private_data_size: 0,
            supports_multipath: false,
            ep_creator: EpCreator::OnRequest,
            pz_support: PzSupport::Unique,
            optimal_buffer_alignment: 64,
            evd_stream_merging: StreamMerging::ALL,
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
            datagrams_supported: false,
            immediate_data_supported: false,
            provider_specific: Vec::new(),
        }
    }
}
