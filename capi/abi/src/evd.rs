//! The event dispatcher.

use super::*;

/// State of an event dispatcher: one bit of each pair is set.
pub type DAT_EVD_STATE = u32;
pub const DAT_EVD_STATE_ENABLED: DAT_EVD_STATE = 0x1;
pub const DAT_EVD_STATE_DISABLED: DAT_EVD_STATE = 0x2;
pub const DAT_EVD_STATE_WAITABLE: DAT_EVD_STATE = 0x4;
pub const DAT_EVD_STATE_UNWAITABLE: DAT_EVD_STATE = 0x8;
pub const DAT_EVD_STATE_CONFIG_NOTIFY: DAT_EVD_STATE = 0x10;
pub const DAT_EVD_STATE_CONFIG_SOLICITED: DAT_EVD_STATE = 0x20;
pub const DAT_EVD_STATE_CONFIG_THRESHOLD: DAT_EVD_STATE = 0x30;

/// Mask of the DAT_EVD_PARAM members to return.
pub type DAT_EVD_PARAM_MASK = u32;
pub const DAT_EVD_FIELD_IA_HANDLE: DAT_EVD_PARAM_MASK = 0x1;
pub const DAT_EVD_FIELD_EVD_QLEN: DAT_EVD_PARAM_MASK = 0x2;
pub const DAT_EVD_FIELD_EVD_STATE: DAT_EVD_PARAM_MASK = 0x4;
pub const DAT_EVD_FIELD_CNO: DAT_EVD_PARAM_MASK = 0x8;
pub const DAT_EVD_FIELD_EVD_FLAGS: DAT_EVD_PARAM_MASK = 0x10;
pub const DAT_EVD_FIELD_ALL: DAT_EVD_PARAM_MASK = 0x1f;

/// Event streams of an event dispatcher.
pub type DAT_EVD_FLAGS = u32;
pub const DAT_EVD_SOFTWARE_FLAG: DAT_EVD_FLAGS = 0x1;
pub const DAT_EVD_CR_FLAG: DAT_EVD_FLAGS = 0x10;
pub const DAT_EVD_DTO_FLAG: DAT_EVD_FLAGS = 0x20;
pub const DAT_EVD_CONNECTION_FLAG: DAT_EVD_FLAGS = 0x40;
pub const DAT_EVD_RMR_BIND_FLAG: DAT_EVD_FLAGS = 0x80;
pub const DAT_EVD_ASYNC_FLAG: DAT_EVD_FLAGS = 0x100;
pub const DAT_EVD_DEFAULT_FLAG: DAT_EVD_FLAGS = 0x1f0;

/// Parameters of a dispatcher, returned by dat_evd_query.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_EVD_PARAM {
    pub ia_handle: DAT_IA_HANDLE,
    pub evd_qlen: DAT_COUNT,
    pub evd_state: DAT_EVD_STATE,
    pub cno_handle: DAT_CNO_HANDLE,
    pub evd_flags: DAT_EVD_FLAGS,
}

v2! {
    // Added by DAT 2.0.
    pub const DAT_EVD_EXTENSION_BASE: DAT_EVD_FLAGS = 0x200;
}
