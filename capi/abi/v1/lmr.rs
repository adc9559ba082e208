//! The local memory region: what DAT 1.2 has of its own.

use super::*;

/// Parameters of a local region, returned by dat_lmr_query.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_LMR_PARAM {
    pub ia_handle: DAT_IA_HANDLE,
    pub mem_type: DAT_MEM_TYPE,
    pub region_desc: DAT_REGION_DESCRIPTION,
    pub length: DAT_VLEN,
    pub pz_handle: DAT_PZ_HANDLE,
    pub mem_priv: DAT_MEM_PRIV_FLAGS,
    pub lmr_context: DAT_LMR_CONTEXT,
    pub rmr_context: DAT_RMR_CONTEXT,
    pub registered_size: DAT_VLEN,
    pub registered_address: DAT_VADDR,
}

/// A segment of local memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_LMR_TRIPLET {
    pub lmr_context: DAT_LMR_CONTEXT,
    pub pad: DAT_UINT32,
    pub virtual_address: DAT_VADDR,
    pub segment_length: DAT_VLEN,
}

/// Mask of the DAT_LMR_PARAM members to return.
pub type DAT_LMR_PARAM_MASK = u32;
pub const DAT_LMR_FIELD_IA_HANDLE: DAT_LMR_PARAM_MASK = 0x1;
pub const DAT_LMR_FIELD_MEM_TYPE: DAT_LMR_PARAM_MASK = 0x2;
pub const DAT_LMR_FIELD_REGION_DESC: DAT_LMR_PARAM_MASK = 0x4;
pub const DAT_LMR_FIELD_LENGTH: DAT_LMR_PARAM_MASK = 0x8;
pub const DAT_LMR_FIELD_PZ_HANDLE: DAT_LMR_PARAM_MASK = 0x10;
pub const DAT_LMR_FIELD_MEM_PRIV: DAT_LMR_PARAM_MASK = 0x20;
pub const DAT_LMR_FIELD_LMR_CONTEXT: DAT_LMR_PARAM_MASK = 0x40;
pub const DAT_LMR_FIELD_RMR_CONTEXT: DAT_LMR_PARAM_MASK = 0x80;
pub const DAT_LMR_FIELD_REGISTERED_SIZE: DAT_LMR_PARAM_MASK = 0x100;
pub const DAT_LMR_FIELD_REGISTERED_ADDRESS: DAT_LMR_PARAM_MASK = 0x200;
pub const DAT_LMR_FIELD_ALL: DAT_LMR_PARAM_MASK = 0x3ff;

// Slots of DAT_PROVIDER.

pub type DAT_LMR_CREATE_FUNC = Option<
    unsafe extern "C-unwind" fn(
        ia_handle: DAT_IA_HANDLE,
        mem_type: DAT_MEM_TYPE,
        region_desc: DAT_REGION_DESCRIPTION,
        length: DAT_VLEN,
        pz_handle: DAT_PZ_HANDLE,
        mem_priv: DAT_MEM_PRIV_FLAGS,
        lmr_handle: *mut DAT_LMR_HANDLE,
        lmr_context: *mut DAT_LMR_CONTEXT,
        rmr_context: *mut DAT_RMR_CONTEXT,
        registered_length: *mut DAT_VLEN,
        registered_address: *mut DAT_VADDR,
    ) -> DAT_RETURN,
>;
