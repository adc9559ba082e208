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
