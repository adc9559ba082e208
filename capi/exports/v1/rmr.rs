//! The calls for remote memory regions, as DAT 1.2 has them.

use super::*;

calls! {
    guard_data_path fn dat_rmr_bind(
        rmr_handle: DAT_RMR_HANDLE,
        lmr_triplet: *const DAT_LMR_TRIPLET,
        mem_priv: DAT_MEM_PRIV_FLAGS,
        ep_handle: DAT_EP_HANDLE,
        user_cookie: DAT_RMR_COOKIE,
        completion_flags: DAT_COMPLETION_FLAGS,
        rmr_context: *mut DAT_RMR_CONTEXT,
    ) = version::rmr_bind, rmr_bind_func: DAT_RMR_BIND_FUNC of object;
}
