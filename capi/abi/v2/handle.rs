//! Handles: what DAT 2.0 has of its own.

use super::*;

// Added by DAT 2.0.
pub const DAT_HANDLE_TYPE_CSP: DAT_HANDLE_TYPE = 11;
pub const DAT_HANDLE_TYPE_EXTENSION_BASE: DAT_HANDLE_TYPE = 12;

/// Handle of a common service point.
pub type DAT_CSP_HANDLE = DAT_HANDLE;
