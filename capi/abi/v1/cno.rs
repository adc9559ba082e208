//! The consumer notification object: what DAT 1.2 has of its own.

use super::*;

/// Parameters of a notification object, returned by dat_cno_query.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_CNO_PARAM {
    pub ia_handle: DAT_IA_HANDLE,
    pub agent: DAT_OS_WAIT_PROXY_AGENT,
}

/// Mask of the DAT_CNO_PARAM members to return.
pub type DAT_CNO_PARAM_MASK = u32;
pub const DAT_CNO_FIELD_IA_HANDLE: DAT_CNO_PARAM_MASK = 0x1;
pub const DAT_CNO_FIELD_AGENT: DAT_CNO_PARAM_MASK = 0x2;
pub const DAT_CNO_FIELD_ALL: DAT_CNO_PARAM_MASK = 0x3;
