//! Public, reserved and common service points.

use super::*;

/// The creator of the endpoint for an arriving connection request: the consumer or the provider.
pub type DAT_PSP_FLAGS = u32;
pub const DAT_PSP_CONSUMER_FLAG: DAT_PSP_FLAGS = 0x0;
pub const DAT_PSP_PROVIDER_FLAG: DAT_PSP_FLAGS = 0x1;

/// Parameters of a public service point, returned by dat_psp_query.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_PSP_PARAM {
    pub ia_handle: DAT_IA_HANDLE,
    pub conn_qual: DAT_CONN_QUAL,
    pub evd_handle: DAT_EVD_HANDLE,
    pub psp_flags: DAT_PSP_FLAGS,
}

/// Mask of the DAT_PSP_PARAM members to return.
pub type DAT_PSP_PARAM_MASK = u32;
pub const DAT_PSP_FIELD_IA_HANDLE: DAT_PSP_PARAM_MASK = 0x1;
pub const DAT_PSP_FIELD_CONN_QUAL: DAT_PSP_PARAM_MASK = 0x2;
pub const DAT_PSP_FIELD_EVD_HANDLE: DAT_PSP_PARAM_MASK = 0x4;
pub const DAT_PSP_FIELD_PSP_FLAGS: DAT_PSP_PARAM_MASK = 0x8;
pub const DAT_PSP_FIELD_ALL: DAT_PSP_PARAM_MASK = 0xf;

/// Parameters of a reserved service point, returned by dat_rsp_query.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_RSP_PARAM {
    pub ia_handle: DAT_IA_HANDLE,
    pub conn_qual: DAT_CONN_QUAL,
    pub evd_handle: DAT_EVD_HANDLE,
    pub ep_handle: DAT_EP_HANDLE,
}

/// Mask of the DAT_RSP_PARAM members to return.
pub type DAT_RSP_PARAM_MASK = u32;
pub const DAT_RSP_FIELD_IA_HANDLE: DAT_RSP_PARAM_MASK = 0x1;
pub const DAT_RSP_FIELD_CONN_QUAL: DAT_RSP_PARAM_MASK = 0x2;
pub const DAT_RSP_FIELD_EVD_HANDLE: DAT_RSP_PARAM_MASK = 0x4;
pub const DAT_RSP_FIELD_EP_HANDLE: DAT_RSP_PARAM_MASK = 0x8;
pub const DAT_RSP_FIELD_ALL: DAT_RSP_PARAM_MASK = 0xf;

v2! {
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
}
