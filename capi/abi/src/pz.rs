//! The protection zone.

use super::*;

/// Parameters of a protection zone, returned by dat_pz_query.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_PZ_PARAM {
    pub ia_handle: DAT_IA_HANDLE,
}

/// Mask of the DAT_PZ_PARAM members to return.
pub type DAT_PZ_PARAM_MASK = u32;
pub const DAT_PZ_FIELD_IA_HANDLE: DAT_PZ_PARAM_MASK = 0x1;
pub const DAT_PZ_FIELD_ALL: DAT_PZ_PARAM_MASK = 0x1;
