//! The consumer notification object.

use super::*;

/// A proxy agent: called whenever its notification object is triggered.
pub type DAT_AGENT_FUNC =
    Option<unsafe extern "C-unwind" fn(instance_data: DAT_PVOID, evd_handle: DAT_EVD_HANDLE)>;

/// A proxy agent and its argument.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_OS_WAIT_PROXY_AGENT {
    pub instance_data: DAT_PVOID,
    pub proxy_agent_func: DAT_AGENT_FUNC,
}

// Slots of DAT_PROVIDER.

pub type DAT_CNO_CREATE_FUNC = Option<
    unsafe extern "C-unwind" fn(
        ia_handle: DAT_IA_HANDLE,
        agent: DAT_OS_WAIT_PROXY_AGENT,
        cno_handle: *mut DAT_CNO_HANDLE,
    ) -> DAT_RETURN,
>;

pub type DAT_CNO_MODIFY_AGENT_FUNC = Option<
    unsafe extern "C-unwind" fn(
        cno_handle: DAT_CNO_HANDLE,
        agent: DAT_OS_WAIT_PROXY_AGENT,
    ) -> DAT_RETURN,
>;

pub type DAT_CNO_QUERY_FUNC = Option<
    unsafe extern "C-unwind" fn(
        cno_handle: DAT_CNO_HANDLE,
        cno_param_mask: DAT_CNO_PARAM_MASK,
        cno_param: *mut DAT_CNO_PARAM,
    ) -> DAT_RETURN,
>;

pub type DAT_CNO_FREE_FUNC =
    Option<unsafe extern "C-unwind" fn(cno_handle: DAT_CNO_HANDLE) -> DAT_RETURN>;

pub type DAT_CNO_WAIT_FUNC = Option<
    unsafe extern "C-unwind" fn(
        cno_handle: DAT_CNO_HANDLE,
        timeout: DAT_TIMEOUT,
        evd_handle: *mut DAT_EVD_HANDLE,
    ) -> DAT_RETURN,
>;
