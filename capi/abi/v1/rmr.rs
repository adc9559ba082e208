//! The remote memory region: what DAT 1.2 has of its own.

use super::*;

/// A segment of remote memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_RMR_TRIPLET {
    pub rmr_context: DAT_RMR_CONTEXT,
    pub pad: DAT_UINT32,
    pub target_address: DAT_VADDR,
    pub segment_length: DAT_VLEN,
}

/// Parameters of a remote region, returned by dat_rmr_query.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_RMR_PARAM {
    pub ia_handle: DAT_IA_HANDLE,
    pub pz_handle: DAT_PZ_HANDLE,
    pub lmr_triplet: DAT_LMR_TRIPLET,
    pub mem_priv: DAT_MEM_PRIV_FLAGS,
    pub rmr_context: DAT_RMR_CONTEXT,
}

// The end of the mask.
pub const DAT_RMR_FIELD_ALL: DAT_RMR_PARAM_MASK = 0x1f;

// Slots of DAT_PROVIDER.

pub type DAT_RMR_BIND_FUNC = Option<
    unsafe extern "C-unwind" fn(
        rmr_handle: DAT_RMR_HANDLE,
        lmr_triplet: *const DAT_LMR_TRIPLET,
        mem_priv: DAT_MEM_PRIV_FLAGS,
        ep_handle: DAT_EP_HANDLE,
        user_cookie: DAT_RMR_COOKIE,
        completion_flags: DAT_COMPLETION_FLAGS,
        rmr_context: *mut DAT_RMR_CONTEXT,
    ) -> DAT_RETURN,
>;
