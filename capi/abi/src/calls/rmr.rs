//! The calls for remote memory regions.

table! { ($) rmr_calls {
    grow fn dat_rmr_create(pz_handle: DAT_PZ_HANDLE, rmr_handle: *mut DAT_RMR_HANDLE)
        = call::rmr::create, rmr_create_func: DAT_RMR_CREATE_FUNC of object
        undo dat_rmr_free(rmr_handle);

    guard fn dat_rmr_query(
        rmr_handle: DAT_RMR_HANDLE,
        rmr_param_mask: DAT_RMR_PARAM_MASK,
        rmr_param: *mut DAT_RMR_PARAM,
    ) = call::rmr::query, rmr_query_func: DAT_RMR_QUERY_FUNC of object;

    guard fn dat_rmr_free(rmr_handle: DAT_RMR_HANDLE)
        = call::rmr::free, rmr_free_func: DAT_RMR_FREE_FUNC of object;
} v1 {
    guard_data_path fn dat_rmr_bind(
        rmr_handle: DAT_RMR_HANDLE,
        lmr_triplet: *const DAT_LMR_TRIPLET,
        mem_priv: DAT_MEM_PRIV_FLAGS,
        ep_handle: DAT_EP_HANDLE,
        user_cookie: DAT_RMR_COOKIE,
        completion_flags: DAT_COMPLETION_FLAGS,
        rmr_context: *mut DAT_RMR_CONTEXT,
    ) = call::rmr::bind, rmr_bind_func: DAT_RMR_BIND_FUNC of object;
} v2 {
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
    ) = call::rmr::bind, rmr_bind_func: DAT_RMR_BIND_FUNC of object;
}}
