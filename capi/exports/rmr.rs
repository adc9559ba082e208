//! The calls for remote memory regions.

use super::*;

calls! {
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
}
