//! The attributes of a provider.

use core::ffi::c_char;

use super::*;

/// Mask of the DAT_PROVIDER_ATTR members to return.
pub type DAT_PROVIDER_ATTR_MASK = DAT_UINT64;
pub const DAT_PROVIDER_FIELD_PROVIDER_NAME: DAT_PROVIDER_ATTR_MASK = 0x1_u64;
pub const DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR: DAT_PROVIDER_ATTR_MASK = 0x2_u64;
pub const DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR: DAT_PROVIDER_ATTR_MASK = 0x4_u64;
pub const DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR: DAT_PROVIDER_ATTR_MASK = 0x8_u64;
pub const DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR: DAT_PROVIDER_ATTR_MASK = 0x10_u64;
pub const DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED: DAT_PROVIDER_ATTR_MASK = 0x20_u64;
pub const DAT_PROVIDER_FIELD_IOV_OWNERSHIP: DAT_PROVIDER_ATTR_MASK = 0x40_u64;
pub const DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED: DAT_PROVIDER_ATTR_MASK = 0x80_u64;
pub const DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED: DAT_PROVIDER_ATTR_MASK = 0x100_u64;
pub const DAT_PROVIDER_FIELD_IS_THREAD_SAFE: DAT_PROVIDER_ATTR_MASK = 0x200_u64;
pub const DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE: DAT_PROVIDER_ATTR_MASK = 0x400_u64;
pub const DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH: DAT_PROVIDER_ATTR_MASK = 0x800_u64;
pub const DAT_PROVIDER_FIELD_EP_CREATOR: DAT_PROVIDER_ATTR_MASK = 0x1000_u64;
pub const DAT_PROVIDER_FIELD_PZ_SUPPORT: DAT_PROVIDER_ATTR_MASK = 0x2000_u64;
pub const DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT: DAT_PROVIDER_ATTR_MASK = 0x4000_u64;
pub const DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED: DAT_PROVIDER_ATTR_MASK = 0x8000_u64;
pub const DAT_PROVIDER_FIELD_SRQ_SUPPORTED: DAT_PROVIDER_ATTR_MASK = 0x1_0000_u64;
pub const DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED: DAT_PROVIDER_ATTR_MASK = 0x2_0000_u64;
pub const DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED: DAT_PROVIDER_ATTR_MASK = 0x4_0000_u64;
pub const DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED: DAT_PROVIDER_ATTR_MASK = 0x8_0000_u64;
pub const DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED: DAT_PROVIDER_ATTR_MASK = 0x10_0000_u64;
pub const DAT_PROVIDER_FIELD_LMR_SYNC_REQ: DAT_PROVIDER_ATTR_MASK = 0x20_0000_u64;
pub const DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED: DAT_PROVIDER_ATTR_MASK = 0x40_0000_u64;
pub const DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ: DAT_PROVIDER_ATTR_MASK = 0x80_0000_u64;
pub const DAT_PROVIDER_FIELD_NONE: DAT_PROVIDER_ATTR_MASK = 0x0_u64;

/// Ownership of the segment list after a post returns.
pub type DAT_IOV_OWNERSHIP = u32;
pub const DAT_IOV_CONSUMER: DAT_IOV_OWNERSHIP = 0;
pub const DAT_IOV_PROVIDER_NOMOD: DAT_IOV_OWNERSHIP = 1;
pub const DAT_IOV_PROVIDER_MOD: DAT_IOV_OWNERSHIP = 2;

/// The creator of endpoints for public service points.
pub type DAT_EP_CREATOR_FOR_PSP = u32;
pub const DAT_PSP_CREATES_EP_NEVER: DAT_EP_CREATOR_FOR_PSP = 0;
pub const DAT_PSP_CREATES_EP_IFASKED: DAT_EP_CREATOR_FOR_PSP = 1;
pub const DAT_PSP_CREATES_EP_ALWAYS: DAT_EP_CREATOR_FOR_PSP = 2;

/// The sharing of a protection zone by processes.
pub type DAT_PZ_SUPPORT = u32;
pub const DAT_PZ_UNIQUE: DAT_PZ_SUPPORT = 0;
pub const DAT_PZ_SHAREABLE: DAT_PZ_SUPPORT = 1;

// The end of the mask.

v2! {
    pub const DAT_PROVIDER_FIELD_RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE: DAT_PROVIDER_ATTR_MASK =
        0x100_0000_u64;
    pub const DAT_PROVIDER_FIELD_RMR_SCOPE_SUPPORTED: DAT_PROVIDER_ATTR_MASK = 0x200_0000_u64;
    pub const DAT_PROVIDER_FIELD_IS_SIGNAL_SAFE: DAT_PROVIDER_ATTR_MASK = 0x400_0000_u64;
    pub const DAT_PROVIDER_FIELD_HA_SUPPORTED: DAT_PROVIDER_ATTR_MASK = 0x800_0000_u64;
    pub const DAT_PROVIDER_FIELD_HA_LB: DAT_PROVIDER_ATTR_MASK = 0x1000_0000_u64;
}

values! {
    pub const DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR: DAT_PROVIDER_ATTR_MASK = 0x100_0000_u64, 0x2000_0000_u64;
    pub const DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR: DAT_PROVIDER_ATTR_MASK = 0x200_0000_u64, 0x4000_0000_u64;
    pub const DAT_PROVIDER_FIELD_ALL: DAT_PROVIDER_ATTR_MASK = 0x3ff_ffff_u64, 0x7fff_ffff_u64;
}

v2! {
    /// How a provider balances load over paths.
    pub type DAT_HA_LB = DAT_UINT32;
    pub const DAT_HA_LB_NONE: DAT_HA_LB = 0;
    pub const DAT_HA_LB_INTERCOMM: DAT_HA_LB = 1;
    pub const DAT_HA_LB_INTRACOMM: DAT_HA_LB = 2;
}

structs! {
    /// Attributes of a provider.
    pub struct DAT_PROVIDER_ATTR {
        pub provider_name: [c_char; DAT_NAME_MAX_LENGTH],
        pub provider_version_major: DAT_UINT32,
        pub provider_version_minor: DAT_UINT32,
        pub dapl_version_major: DAT_UINT32,
        pub dapl_version_minor: DAT_UINT32,
        pub lmr_mem_types_supported: DAT_MEM_TYPE,
        pub iov_ownership_on_return: DAT_IOV_OWNERSHIP,
        pub dat_qos_supported: DAT_QOS,
        pub completion_flags_supported: DAT_COMPLETION_FLAGS,
        pub is_thread_safe: DAT_BOOLEAN,
        pub max_private_data_size: DAT_COUNT,
        pub supports_multipath: DAT_BOOLEAN,
        pub ep_creator: DAT_EP_CREATOR_FOR_PSP,
        pub pz_support: DAT_PZ_SUPPORT,
        pub optimal_buffer_alignment: DAT_UINT32,
        pub evd_stream_merging_supported: [[DAT_BOOLEAN; 6]; 6],
        pub srq_supported: DAT_BOOLEAN,
        pub srq_watermarks_supported: DAT_COUNT,
        pub srq_ep_pz_difference_supported: DAT_BOOLEAN,
        pub srq_info_supported: DAT_COUNT,
        pub ep_recv_info_supported: DAT_COUNT,
        pub lmr_sync_req: DAT_BOOLEAN,
        pub dto_async_return_guaranteed: DAT_BOOLEAN,
        pub rdma_write_for_rdma_read_req: DAT_BOOLEAN,
        v2 {
            pub rdma_read_lmr_rmr_context_exposure: DAT_BOOLEAN,
            pub rmr_scope_supported: DAT_RMR_SCOPE,
            pub is_signal_safe: DAT_BOOLEAN,
            pub ha_supported: DAT_BOOLEAN,
            pub ha_loadbalancing: DAT_HA_LB,
        }
        pub num_provider_specific_attr: DAT_COUNT,
        pub provider_specific_attr: *mut DAT_NAMED_ATTR,
    }
}
