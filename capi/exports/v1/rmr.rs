//! The calls for remote memory regions, as DAT 1.2 has them.

use crate::abi::*;
use crate::dialect;
use crate::guard_data_path;

/// Posts a bind of a remote region to memory (dat_rmr_bind(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_rmr_bind(
    rmr_handle: DAT_RMR_HANDLE,
    lmr_triplet: *const DAT_LMR_TRIPLET,
    mem_priv: DAT_MEM_PRIV_FLAGS,
    ep_handle: DAT_EP_HANDLE,
    user_cookie: DAT_RMR_COOKIE,
    completion_flags: DAT_COMPLETION_FLAGS,
    rmr_context: *mut DAT_RMR_CONTEXT,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_data_path(|| unsafe {
        dialect::rmr_bind(
            rmr_handle,
            lmr_triplet,
            mem_priv,
            ep_handle,
            user_cookie,
            completion_flags,
            rmr_context,
        )
    })
}
