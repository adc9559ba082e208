//! The calls for remote memory regions, as DAT 2.0 has them.

use super::*;

calls! {
    grow fn dat_rmr_create_for_ep(pz_handle: DAT_PZ_HANDLE, rmr_handle: *mut DAT_RMR_HANDLE)
        = call_v2::rmr::create_for_ep, rmr_create_for_ep_func: DAT_RMR_CREATE_FOR_EP_FUNC of object
        undo dat_rmr_free(rmr_handle);

    guard_data_path fn dat_rmr_bind(
        rmr_handle: DAT_RMR_HANDLE,
        lmr_handle: DAT_LMR_HANDLE,
        lmr_triplet: *const DAT_LMR_TRIPLET,
        mem_priv: DAT_MEM_PRIV_FLAGS,
        va_type: DAT_VA_TYPE,
        ep_handle: DAT_EP_HANDLE,
        user_cookie: DAT_RMR_COOKIE,
        completion_flags: DAT_COMPLETION_FLAGS,
        rmr_context: *mut DAT_RMR_CONTEXT,
    ) = version::rmr_bind, rmr_bind_func: DAT_RMR_BIND_FUNC of object;
}
