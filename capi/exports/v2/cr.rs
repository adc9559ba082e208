//! The calls for connection requests, as DAT 2.0 has them.

use crate::abi::*;
use crate::call;

calls! {
    guard fn dat_cr_reject(
        cr_handle: DAT_CR_HANDLE,
        private_data_size: DAT_COUNT,
        private_data: DAT_PVOID,
    ) = call::cr::reject, cr_reject_func;
}
