//! The calls for endpoints, as DAT 2.0 has them.

use crate::abi::*;
use crate::call2;
use crate::guard;

/// Connects to a common service point (dat_ep_common_connect(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_common_connect(
    ep_handle: DAT_EP_HANDLE,
    remote_ia_address: DAT_IA_ADDRESS_PTR,
    timeout: DAT_TIMEOUT,
    private_data_size: DAT_COUNT,
    private_data: DAT_PVOID,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe {
        call2::ep::common_connect(
            ep_handle,
            remote_ia_address,
            timeout,
            private_data_size,
            private_data,
        )
    })
}
