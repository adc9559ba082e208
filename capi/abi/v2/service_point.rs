//! Public, reserved and common service points: what DAT 2.0 has of its own.

use super::*;

/// Parameters of a common service point, returned by dat_csp_query.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_CSP_PARAM {
    pub ia_handle: DAT_IA_HANDLE,
    pub comm: *mut DAT_COMM,
    pub address_ptr: DAT_IA_ADDRESS_PTR,
    pub evd_handle: DAT_EVD_HANDLE,
}

/// Mask of the DAT_CSP_PARAM members to return.
pub type DAT_CSP_PARAM_MASK = u32;
pub const DAT_CSP_FIELD_IA_HANDLE: DAT_CSP_PARAM_MASK = 0x1;
pub const DAT_CSP_FIELD_COMM: DAT_CSP_PARAM_MASK = 0x2;
pub const DAT_CSP_FIELD_IA_ADDRESS: DAT_CSP_PARAM_MASK = 0x4;
pub const DAT_CSP_FIELD_EVD_HANDLE: DAT_CSP_PARAM_MASK = 0x8;
pub const DAT_CSP_FIELD_ALL: DAT_CSP_PARAM_MASK = 0xf;
