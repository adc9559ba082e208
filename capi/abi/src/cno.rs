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

v2! {
    /// A file descriptor.
    pub type DAT_FD = core::ffi::c_int;

    /// The type of a proxy agent.
    pub type DAT_PROXY_TYPE = u32;
    pub const DAT_PROXY_TYPE_NONE: DAT_PROXY_TYPE = 0;
    pub const DAT_PROXY_TYPE_AGENT: DAT_PROXY_TYPE = 1;
    pub const DAT_PROXY_TYPE_FD: DAT_PROXY_TYPE = 2;

    /// The proxy agent of a notification object; DAT_PROXY_TYPE selects the member.
    #[repr(C)]
    #[derive(Clone, Copy)]
    pub union DAT_CNO_PROXY {
        pub agent: DAT_OS_WAIT_PROXY_AGENT,
        pub fd: DAT_FD,
        pub none: DAT_PVOID,
    }
}

structs! {
    /// Parameters of a notification object, returned by dat_cno_query.
    pub struct DAT_CNO_PARAM {
        pub ia_handle: DAT_IA_HANDLE,
        v1 {
            pub agent: DAT_OS_WAIT_PROXY_AGENT,
        }
        v2 {
            pub proxy_type: DAT_PROXY_TYPE,
            pub proxy: DAT_CNO_PROXY,
        }
    }
}

/// Mask of the DAT_CNO_PARAM members to return.
pub type DAT_CNO_PARAM_MASK = u32;
pub const DAT_CNO_FIELD_IA_HANDLE: DAT_CNO_PARAM_MASK = 0x1;

v1! {
    pub const DAT_CNO_FIELD_AGENT: DAT_CNO_PARAM_MASK = 0x2;
}

v2! {
    pub const DAT_CNO_FIELD_PROXY_TYPE: DAT_CNO_PARAM_MASK = 0x2;
    pub const DAT_CNO_FIELD_PROXY: DAT_CNO_PARAM_MASK = 0x3;
}

values! {
    pub const DAT_CNO_FIELD_ALL: DAT_CNO_PARAM_MASK = 0x3, 0x4;
}
