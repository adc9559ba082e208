//! The calls for connection requests, as DAT 2.0 has them.

use crate::abi::*;
use crate::call;
use crate::guard;

/// Rejects a connection request (dat_cr_reject(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_cr_reject(
    cr_handle: DAT_CR_HANDLE,
    private_data_size: DAT_COUNT,
    private_data: DAT_PVOID,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::cr::reject(cr_handle, private_data_size, private_data) })
}
