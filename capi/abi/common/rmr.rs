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

// Slots of DAT_PROVIDER.

pub type DAT_RMR_CREATE_FUNC = Option<
    unsafe extern "C-unwind" fn(
        pz_handle: DAT_PZ_HANDLE,
        rmr_handle: *mut DAT_RMR_HANDLE,
    ) -> DAT_RETURN,
>;

pub type DAT_RMR_QUERY_FUNC = Option<
    unsafe extern "C-unwind" fn(
        rmr_handle: DAT_RMR_HANDLE,
        rmr_param_mask: DAT_RMR_PARAM_MASK,
        rmr_param: *mut DAT_RMR_PARAM,
    ) -> DAT_RETURN,
>;

pub type DAT_RMR_FREE_FUNC =
    Option<unsafe extern "C-unwind" fn(rmr_handle: DAT_RMR_HANDLE) -> DAT_RETURN>;
