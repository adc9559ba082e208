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

/// Shared memory and its identifier.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_SHARED_MEMORY {
    pub virtual_address: DAT_PVOID,
    pub shared_memory_id: DAT_LMR_COOKIE,
}

/// The memory of a region; DAT_MEM_TYPE selects the member.
#[repr(C)]
#[derive(Clone, Copy)]
pub union DAT_REGION_DESCRIPTION {
    pub for_va: DAT_PVOID,
    pub for_lmr_handle: DAT_LMR_HANDLE,
    pub for_shared_memory: DAT_SHARED_MEMORY,
}

// Slots of DAT_PROVIDER.

pub type DAT_LMR_QUERY_FUNC = Option<
    unsafe extern "C-unwind" fn(
        lmr_handle: DAT_LMR_HANDLE,
        lmr_param_mask: DAT_LMR_PARAM_MASK,
        lmr_param: *mut DAT_LMR_PARAM,
    ) -> DAT_RETURN,
>;

pub type DAT_LMR_FREE_FUNC =
    Option<unsafe extern "C-unwind" fn(lmr_handle: DAT_LMR_HANDLE) -> DAT_RETURN>;

pub type DAT_LMR_SYNC_RDMA_READ_FUNC = Option<
    unsafe extern "C-unwind" fn(
        ia_handle: DAT_IA_HANDLE,
        local_segments: *const DAT_LMR_TRIPLET,
        num_segments: DAT_VLEN,
    ) -> DAT_RETURN,
>;

pub type DAT_LMR_SYNC_RDMA_WRITE_FUNC = Option<
    unsafe extern "C-unwind" fn(
        ia_handle: DAT_IA_HANDLE,
        local_segments: *const DAT_LMR_TRIPLET,
        num_segments: DAT_VLEN,
    ) -> DAT_RETURN,
>;
