//! Handles.

use core::ptr;

use super::*;

/// The kind of object that a handle refers to.
pub type DAT_HANDLE_TYPE = u32;
pub const DAT_HANDLE_TYPE_CR: DAT_HANDLE_TYPE = 0;
pub const DAT_HANDLE_TYPE_EP: DAT_HANDLE_TYPE = 1;
pub const DAT_HANDLE_TYPE_EVD: DAT_HANDLE_TYPE = 2;
pub const DAT_HANDLE_TYPE_IA: DAT_HANDLE_TYPE = 3;
pub const DAT_HANDLE_TYPE_LMR: DAT_HANDLE_TYPE = 4;
pub const DAT_HANDLE_TYPE_PSP: DAT_HANDLE_TYPE = 5;
pub const DAT_HANDLE_TYPE_PZ: DAT_HANDLE_TYPE = 6;
pub const DAT_HANDLE_TYPE_RMR: DAT_HANDLE_TYPE = 7;
pub const DAT_HANDLE_TYPE_RSP: DAT_HANDLE_TYPE = 8;
pub const DAT_HANDLE_TYPE_CNO: DAT_HANDLE_TYPE = 9;
pub const DAT_HANDLE_TYPE_SRQ: DAT_HANDLE_TYPE = 10;

/// Handle of an object of any kind.
pub type DAT_HANDLE = DAT_PVOID;

/// The null handle.
pub const DAT_HANDLE_NULL: DAT_HANDLE = ptr::null_mut();

/// Handle of a connection request.
pub type DAT_CR_HANDLE = DAT_HANDLE;

/// Handle of an endpoint.
pub type DAT_EP_HANDLE = DAT_HANDLE;

/// Handle of an event dispatcher.
pub type DAT_EVD_HANDLE = DAT_HANDLE;

/// Handle of an open interface adapter.
pub type DAT_IA_HANDLE = DAT_HANDLE;

/// Handle of a local memory region.
pub type DAT_LMR_HANDLE = DAT_HANDLE;

/// Handle of a public service point.
pub type DAT_PSP_HANDLE = DAT_HANDLE;

/// Handle of a protection zone.
pub type DAT_PZ_HANDLE = DAT_HANDLE;

/// Handle of a remote memory region.
pub type DAT_RMR_HANDLE = DAT_HANDLE;

/// Handle of a reserved service point.
pub type DAT_RSP_HANDLE = DAT_HANDLE;

/// Handle of a shared receive queue.
pub type DAT_SRQ_HANDLE = DAT_HANDLE;

/// Handle of a consumer notification object.
pub type DAT_CNO_HANDLE = DAT_HANDLE;

v2! {
    // Added by DAT 2.0.
    pub const DAT_HANDLE_TYPE_CSP: DAT_HANDLE_TYPE = 11;
    pub const DAT_HANDLE_TYPE_EXTENSION_BASE: DAT_HANDLE_TYPE = 12;

    /// Handle of a common service point.
    pub type DAT_CSP_HANDLE = DAT_HANDLE;
}
