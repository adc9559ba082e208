//! The connection request: what DAT 1.2 has of its own.

use super::*;

// Slots of DAT_PROVIDER.

pub type DAT_CR_REJECT_FUNC =
    Option<unsafe extern "C-unwind" fn(cr_handle: DAT_CR_HANDLE) -> DAT_RETURN>;
