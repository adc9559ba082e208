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

// Slots of DAT_PROVIDER.

pub type DAT_EVD_CREATE_FUNC = Option<
    unsafe extern "C-unwind" fn(
        ia_handle: DAT_IA_HANDLE,
        evd_min_qlen: DAT_COUNT,
        cno_handle: DAT_CNO_HANDLE,
        evd_flags: DAT_EVD_FLAGS,
        evd_handle: *mut DAT_EVD_HANDLE,
    ) -> DAT_RETURN,
>;

pub type DAT_EVD_MODIFY_CNO_FUNC = Option<
    unsafe extern "C-unwind" fn(
        evd_handle: DAT_EVD_HANDLE,
        cno_handle: DAT_CNO_HANDLE,
    ) -> DAT_RETURN,
>;

pub type DAT_EVD_ENABLE_FUNC =
    Option<unsafe extern "C-unwind" fn(evd_handle: DAT_EVD_HANDLE) -> DAT_RETURN>;

pub type DAT_EVD_WAIT_FUNC = Option<
    unsafe extern "C-unwind" fn(
        evd_handle: DAT_EVD_HANDLE,
        timeout: DAT_TIMEOUT,
        threshold: DAT_COUNT,
        event: *mut DAT_EVENT,
        n_more: *mut DAT_COUNT,
    ) -> DAT_RETURN,
>;

pub type DAT_EVD_DISABLE_FUNC =
    Option<unsafe extern "C-unwind" fn(evd_handle: DAT_EVD_HANDLE) -> DAT_RETURN>;

pub type DAT_EVD_SET_UNWAITABLE_FUNC =
    Option<unsafe extern "C-unwind" fn(evd_handle: DAT_EVD_HANDLE) -> DAT_RETURN>;

pub type DAT_EVD_CLEAR_UNWAITABLE_FUNC =
    Option<unsafe extern "C-unwind" fn(evd_handle: DAT_EVD_HANDLE) -> DAT_RETURN>;

pub type DAT_EVD_RESIZE_FUNC = Option<
    unsafe extern "C-unwind" fn(evd_handle: DAT_EVD_HANDLE, evd_min_qlen: DAT_COUNT) -> DAT_RETURN,
>;

pub type DAT_EVD_POST_SE_FUNC = Option<
    unsafe extern "C-unwind" fn(evd_handle: DAT_EVD_HANDLE, event: *const DAT_EVENT) -> DAT_RETURN,
>;

pub type DAT_EVD_DEQUEUE_FUNC = Option<
    unsafe extern "C-unwind" fn(evd_handle: DAT_EVD_HANDLE, event: *mut DAT_EVENT) -> DAT_RETURN,
>;

pub type DAT_EVD_FREE_FUNC =
    Option<unsafe extern "C-unwind" fn(evd_handle: DAT_EVD_HANDLE) -> DAT_RETURN>;

pub type DAT_EVD_QUERY_FUNC = Option<
    unsafe extern "C-unwind" fn(
        evd_handle: DAT_EVD_HANDLE,
        evd_param_mask: DAT_EVD_PARAM_MASK,
        evd_param: *mut DAT_EVD_PARAM,
    ) -> DAT_RETURN,
>;
