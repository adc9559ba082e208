//! The remote memory region.

use super::*;

/// The consumer cookie returned with a bind completion.
pub type DAT_RMR_COOKIE = DAT_CONTEXT;

/// Remote memory region context: identifies a region in RDMA operations of the peer.
pub type DAT_RMR_CONTEXT = DAT_UINT32;

/// Mask of the DAT_RMR_PARAM members to return.
pub type DAT_RMR_PARAM_MASK = u32;
pub const DAT_RMR_FIELD_IA_HANDLE: DAT_RMR_PARAM_MASK = 0x1;
pub const DAT_RMR_FIELD_PZ_HANDLE: DAT_RMR_PARAM_MASK = 0x2;
pub const DAT_RMR_FIELD_LMR_TRIPLET: DAT_RMR_PARAM_MASK = 0x4;
pub const DAT_RMR_FIELD_MEM_PRIV: DAT_RMR_PARAM_MASK = 0x8;
pub const DAT_RMR_FIELD_RMR_CONTEXT: DAT_RMR_PARAM_MASK = 0x10;

structs! {
    /// A segment of remote memory.
    pub struct DAT_RMR_TRIPLET {
        v2 {
            pub virtual_address: DAT_VADDR,
            pub segment_length: DAT_SEG_LENGTH,
        }
        pub rmr_context: DAT_RMR_CONTEXT,
        v1 {
            pub pad: DAT_UINT32,
            pub target_address: DAT_VADDR,
            pub segment_length: DAT_VLEN,
        }
    }
}

v2! {
    /// Scope of a remote memory region.
    pub type DAT_RMR_SCOPE = u32;
    pub const DAT_RMR_SCOPE_EP: DAT_RMR_SCOPE = 0;
    pub const DAT_RMR_SCOPE_PZ: DAT_RMR_SCOPE = 1;
    pub const DAT_RMR_SCOPE_ANY: DAT_RMR_SCOPE = 2;
}

structs! {
    /// Parameters of a remote region, returned by dat_rmr_query.
    pub struct DAT_RMR_PARAM {
        pub ia_handle: DAT_IA_HANDLE,
        pub pz_handle: DAT_PZ_HANDLE,
        pub lmr_triplet: DAT_LMR_TRIPLET,
        pub mem_priv: DAT_MEM_PRIV_FLAGS,
        pub rmr_context: DAT_RMR_CONTEXT,
        v2 {
            pub rmr_scope: DAT_RMR_SCOPE,
            pub va_type: DAT_VA_TYPE,
        }
    }
}

// The end of the mask.

v2! {
    pub const DAT_RMR_FIELD_RMR_SCOPE: DAT_RMR_PARAM_MASK = 0x20;
    pub const DAT_RMR_FIELD_VA_TYPE: DAT_RMR_PARAM_MASK = 0x40;
}

values! {
    pub const DAT_RMR_FIELD_ALL: DAT_RMR_PARAM_MASK = 0x1f, 0x7f;
}
