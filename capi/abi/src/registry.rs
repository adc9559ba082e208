//! The registry.

use core::ffi::{CStr, c_char};

use super::*;

/// Identifies a provider in the registry.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_PROVIDER_INFO {
    pub ia_name: [c_char; DAT_NAME_MAX_LENGTH],
    pub dapl_version_major: DAT_UINT32,
    pub dapl_version_minor: DAT_UINT32,
    pub is_thread_safe: DAT_BOOLEAN,
}

pub const DAT_PROVIDER_INIT_FUNC_STR: &CStr = c"dat_provider_init";
pub const DAT_PROVIDER_FINI_FUNC_STR: &CStr = c"dat_provider_fini";

/// dat_provider_init: initializes a provider library.
pub type DAT_PROVIDER_INIT_FUNC = Option<
    unsafe extern "C-unwind" fn(
        provider_info: *const DAT_PROVIDER_INFO,
        instance_data: *const c_char,
    ),
>;

/// dat_provider_fini: shuts down a provider library.
pub type DAT_PROVIDER_FINI_FUNC =
    Option<unsafe extern "C-unwind" fn(provider_info: *const DAT_PROVIDER_INFO)>;

v2! {
    /// The relationship of two adapters, which may use the same port.
    pub type DAT_HA_RELATIONSHIP = u32;
    pub const DAT_HA_FALSE: DAT_HA_RELATIONSHIP = 0;
    pub const DAT_HA_TRUE: DAT_HA_RELATIONSHIP = 1;
    pub const DAT_HA_UNKNOWN: DAT_HA_RELATIONSHIP = 2;
    pub const DAT_HA_CONFLICTING: DAT_HA_RELATIONSHIP = 3;
    pub const DAT_HA_EXTENSION_BASE: DAT_HA_RELATIONSHIP = 4;
}
