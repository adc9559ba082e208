//! The consumer notification object: what DAT 1.2 has of its own.

use super::*;

/// What dat_cno_query tells about a notification object.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_CNO_PARAM {
    pub ia_handle: DAT_IA_HANDLE,
    pub agent: DAT_OS_WAIT_PROXY_AGENT,
}

/// Which members of DAT_CNO_PARAM are asked for.
pub type DAT_CNO_PARAM_MASK = u32;
pub const DAT_CNO_FIELD_IA_HANDLE: DAT_CNO_PARAM_MASK = 0x1;
pub const DAT_CNO_FIELD_AGENT: DAT_CNO_PARAM_MASK = 0x2;
pub const DAT_CNO_FIELD_ALL: DAT_CNO_PARAM_MASK = 0x3;
