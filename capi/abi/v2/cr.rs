//! The connection request: what DAT 2.0 has of its own.

use super::*;

// Slots of DAT_PROVIDER.

pub type DAT_CR_REJECT_FUNC = Option<
    unsafe extern "C-unwind" fn(
        cr_handle: DAT_CR_HANDLE,
        private_data_size: DAT_COUNT,
        private_data: DAT_PVOID,
    ) -> DAT_RETURN,
>;
