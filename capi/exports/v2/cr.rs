//! The calls for connection requests, as DAT 2.0 has them.

use super::*;

calls! {
    guard fn dat_cr_reject(
        cr_handle: DAT_CR_HANDLE,
        private_data_size: DAT_COUNT,
        private_data: DAT_PVOID,
    ) = call::cr::reject, cr_reject_func: DAT_CR_REJECT_FUNC of object;
}
