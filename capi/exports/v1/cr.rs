//! The calls for connection requests, as DAT 1.2 has them.

use super::*;

calls! {
    guard fn dat_cr_reject(cr_handle: DAT_CR_HANDLE)
        = version::cr_reject, cr_reject_func: DAT_CR_REJECT_FUNC of object;
}
