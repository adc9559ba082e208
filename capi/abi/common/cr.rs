//! The connection request.

use super::*;

/// Parameters of a connection request, returned by dat_cr_query.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_CR_PARAM {
    pub remote_ia_address_ptr: DAT_IA_ADDRESS_PTR,
    pub remote_port_qual: DAT_PORT_QUAL,
    pub private_data_size: DAT_COUNT,
    pub private_data: DAT_PVOID,
    pub local_ep_handle: DAT_EP_HANDLE,
}

/// Mask of the DAT_CR_PARAM members to return.
pub type DAT_CR_PARAM_MASK = u32;
pub const DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR: DAT_CR_PARAM_MASK = 0x1;
pub const DAT_CR_FIELD_REMOTE_PORT_QUAL: DAT_CR_PARAM_MASK = 0x2;
pub const DAT_CR_FIELD_PRIVATE_DATA_SIZE: DAT_CR_PARAM_MASK = 0x4;
pub const DAT_CR_FIELD_PRIVATE_DATA: DAT_CR_PARAM_MASK = 0x8;
pub const DAT_CR_FIELD_LOCAL_EP_HANDLE: DAT_CR_PARAM_MASK = 0x10;
pub const DAT_CR_FIELD_ALL: DAT_CR_PARAM_MASK = 0x1f;

// Slots of DAT_PROVIDER.

pub type DAT_CR_QUERY_FUNC = Option<
    unsafe extern "C-unwind" fn(
        cr_handle: DAT_CR_HANDLE,
        cr_param_mask: DAT_CR_PARAM_MASK,
        cr_param: *mut DAT_CR_PARAM,
    ) -> DAT_RETURN,
>;

pub type DAT_CR_ACCEPT_FUNC = Option<
    unsafe extern "C-unwind" fn(
        cr_handle: DAT_CR_HANDLE,
        ep_handle: DAT_EP_HANDLE,
        private_data_size: DAT_COUNT,
        private_data: DAT_PVOID,
    ) -> DAT_RETURN,
>;

pub type DAT_CR_HANDOFF_FUNC = Option<
    unsafe extern "C-unwind" fn(cr_handle: DAT_CR_HANDLE, conn_qual: DAT_CONN_QUAL) -> DAT_RETURN,
>;

// Slots of DAT_PROVIDER.

v1! {
    pub type DAT_CR_REJECT_FUNC =
        Option<unsafe extern "C-unwind" fn(cr_handle: DAT_CR_HANDLE) -> DAT_RETURN>;
}

v2! {
    pub type DAT_CR_REJECT_FUNC = Option<
        unsafe extern "C-unwind" fn(
            cr_handle: DAT_CR_HANDLE,
            private_data_size: DAT_COUNT,
            private_data: DAT_PVOID,
        ) -> DAT_RETURN,
    >;
}
