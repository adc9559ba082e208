//! The attributes of a provider.

use super::NamedAttr;
use crate::flags::{CompletionFlags, EvdFlags, MemoryTypes, Qos};

/// Who owns the segment list after a post returns (`DAT_IOV_OWNERSHIP`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IovOwnership {
    /// The consumer, at once.
    Consumer,
    /// The provider until the completion; it changes nothing.
    ProviderNoModify,
    /// The provider until the completion; it may change the list.
    ProviderModify,
}

/// Who can make the endpoint for a request on a public service point
/// (`DAT_EP_CREATOR_FOR_PSP`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EpCreator {
    /// The consumer only.
    Never,
    /// The provider when asked to.
    IfAsked,
    /// The provider only.
    Always,
}

/// Whether a protection zone is one instance's own (`DAT_PZ_SUPPORT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PzSupport {
    /// Each zone is of one open instance.
    Unique,
    /// Zones may be shared between instances.
    Shareable,
}

/// Which pairs of event streams may feed one event dispatcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamMatrix(pub [[bool; 6]; 6]);

impl StreamMatrix {
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

/// What a provider offers beyond the adapter's figures
/// (`DAT_PROVIDER_ATTR`; dat_ia_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderAttributes {
    /// The provider's vendor.
    pub provider_name: String,
    /// Version of the provider, major and minor.
    pub provider_version: (u32, u32),
    /// Kinds of memory that can be registered.
    pub lmr_mem_types: MemoryTypes,
    /// Who owns segment lists after a post.
    pub iov_ownership: IovOwnership,
    /// Qualities of service beyond best effort.
    pub qos_supported: Qos,
    /// Completion flags that posts and endpoints may use.
    pub completion_flags_supported: CompletionFlags,
    /// Bytes of private data of a connect, accept or reject.
    pub max_private_data_size: u32,
    /// Whether connections may use several paths.
    pub supports_multipath: bool,
    /// Who can make endpoints for public service points.
    pub ep_creator: EpCreator,
    /// The reach of protection zones.
    pub pz_support: PzSupport,
    /// The alignment of buffers that is fastest, in bytes; divides 256.
    pub optimal_buffer_alignment: u32,
    /// Which event streams may be merged.
    pub evd_stream_merging: StreamMatrix,
    /// Whether there are shared receive queues.
    pub srq_supported: bool,
    /// Whether shared receive queues and endpoints have watermarks.
    pub srq_watermarks_supported: bool,
    /// Whether an endpoint's zone may differ from its shared receive queue's.
    pub srq_ep_pz_difference_supported: bool,
    /// Whether RDMA memory needs the sync calls.
    pub lmr_sync_required: bool,
    /// Whether remote memory regions can be bound.
    pub rmr_supported: bool,
    /// Whether they can be confined to the endpoint that binds them.
    pub rmr_scope_ep_supported: bool,
    /// Whether a send can make a remote memory region of the peer's invalid.
    pub invalidate_supported: bool,
    /// Whether that goes for regions of the scope of a zone too, not of an endpoint only.
    pub invalidate_scope_pz_supported: bool,
    /// Whether an RDMA read can go to memory named by its remote context.
    pub read_to_rmr_supported: bool,
    /// Whether there are fetch-and-add and compare-and-swap.
    pub atomics_supported: bool,
    /// Whether endpoints can carry datagrams.
    pub datagrams_supported: bool,
    /// Whether RDMA writes can carry immediate data.
    pub immediate_data_supported: bool,
    /// Attributes that only the provider knows.
    pub provider_specific: Vec<NamedAttr>,
}
