//! The local memory region.

use core::ffi::c_char;

use super::*;

/// Length of a shared memory identifier.
pub const DAT_LMR_COOKIE_SIZE: usize = 40;

/// The type of the memory in a region description.
pub type DAT_MEM_TYPE = u32;
pub const DAT_MEM_TYPE_VIRTUAL: DAT_MEM_TYPE = 0;
pub const DAT_MEM_TYPE_LMR: DAT_MEM_TYPE = 1;
pub const DAT_MEM_TYPE_SHARED_VIRTUAL: DAT_MEM_TYPE = 2;

/// Local memory region context: identifies a region in posted segments.
pub type DAT_LMR_CONTEXT = DAT_UINT32;

/// Memory privileges.
pub type DAT_MEM_PRIV_FLAGS = u32;
pub const DAT_MEM_PRIV_NONE_FLAG: DAT_MEM_PRIV_FLAGS = 0x0;
pub const DAT_MEM_PRIV_LOCAL_READ_FLAG: DAT_MEM_PRIV_FLAGS = 0x1;
pub const DAT_MEM_PRIV_REMOTE_READ_FLAG: DAT_MEM_PRIV_FLAGS = 0x2;
pub const DAT_MEM_PRIV_LOCAL_WRITE_FLAG: DAT_MEM_PRIV_FLAGS = 0x10;
pub const DAT_MEM_PRIV_REMOTE_WRITE_FLAG: DAT_MEM_PRIV_FLAGS = 0x20;
pub const DAT_MEM_PRIV_ALL_FLAG: DAT_MEM_PRIV_FLAGS = 0x33;
pub const DAT_MEM_PRIV_READ_FLAG: DAT_MEM_PRIV_FLAGS =
    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG;
pub const DAT_MEM_PRIV_WRITE_FLAG: DAT_MEM_PRIV_FLAGS =
    DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;

/// Identifies shared memory.
pub type DAT_LMR_COOKIE = *mut [c_char; DAT_LMR_COOKIE_SIZE];

structs! {
    /// Shared memory and its identifier.
    pub struct DAT_SHARED_MEMORY {
        pub virtual_address: DAT_PVOID,
        pub shared_memory_id: DAT_LMR_COOKIE,
    }

    /// The memory of a region; DAT_MEM_TYPE selects the member.
    pub union DAT_REGION_DESCRIPTION {
        pub for_va: DAT_PVOID,
        pub for_lmr_handle: DAT_LMR_HANDLE,
        pub for_shared_memory: DAT_SHARED_MEMORY,
    }

    /// Parameters of a local region, returned by dat_lmr_query.
    pub struct DAT_LMR_PARAM {
        pub ia_handle: DAT_IA_HANDLE,
        pub mem_type: DAT_MEM_TYPE,
        pub region_desc: DAT_REGION_DESCRIPTION,
        pub length: DAT_VLEN,
        pub pz_handle: DAT_PZ_HANDLE,
        pub mem_priv: DAT_MEM_PRIV_FLAGS,
        v2 {
            pub va_type: DAT_VA_TYPE,
        }
        pub lmr_context: DAT_LMR_CONTEXT,
        pub rmr_context: DAT_RMR_CONTEXT,
        pub registered_size: DAT_VLEN,
        pub registered_address: DAT_VADDR,
    }
}

v1! {
    /// A segment of local memory.
    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct DAT_LMR_TRIPLET {
        pub lmr_context: DAT_LMR_CONTEXT,
        pub pad: DAT_UINT32,
        pub virtual_address: DAT_VADDR,
        pub segment_length: DAT_VLEN,
    }
}

/// Mask of the DAT_LMR_PARAM members to return.
pub type DAT_LMR_PARAM_MASK = u32;
pub const DAT_LMR_FIELD_IA_HANDLE: DAT_LMR_PARAM_MASK = 0x1;
pub const DAT_LMR_FIELD_MEM_TYPE: DAT_LMR_PARAM_MASK = 0x2;
pub const DAT_LMR_FIELD_REGION_DESC: DAT_LMR_PARAM_MASK = 0x4;
pub const DAT_LMR_FIELD_LENGTH: DAT_LMR_PARAM_MASK = 0x8;
pub const DAT_LMR_FIELD_PZ_HANDLE: DAT_LMR_PARAM_MASK = 0x10;
pub const DAT_LMR_FIELD_MEM_PRIV: DAT_LMR_PARAM_MASK = 0x20;

v2! {
    pub const DAT_LMR_FIELD_VA_TYPE: DAT_LMR_PARAM_MASK = 0x40;
}

values! {
    pub const DAT_LMR_FIELD_LMR_CONTEXT: DAT_LMR_PARAM_MASK = 0x40, 0x80;
    pub const DAT_LMR_FIELD_RMR_CONTEXT: DAT_LMR_PARAM_MASK = 0x80, 0x100;
    pub const DAT_LMR_FIELD_REGISTERED_SIZE: DAT_LMR_PARAM_MASK = 0x100, 0x200;
    pub const DAT_LMR_FIELD_REGISTERED_ADDRESS: DAT_LMR_PARAM_MASK = 0x200, 0x400;
    pub const DAT_LMR_FIELD_ALL: DAT_LMR_PARAM_MASK = 0x3ff, 0x7ff;
}

v2! {
    /// A segment of local memory.
    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct DAT_LMR_TRIPLET {
        pub virtual_address: DAT_VADDR,
        pub segment_length: DAT_SEG_LENGTH,
        pub lmr_context: DAT_LMR_CONTEXT,
    }

    // Added by DAT 2.0.
    pub const DAT_MEM_PRIV_EXTENSION_BASE: DAT_MEM_PRIV_FLAGS = 0x40;

    /// The kind of addresses in a region: zero-based or virtual.
    pub type DAT_VA_TYPE = u32;
    pub const DAT_VA_TYPE_VA: DAT_VA_TYPE = 0;
    pub const DAT_VA_TYPE_ZB: DAT_VA_TYPE = 1;
}
