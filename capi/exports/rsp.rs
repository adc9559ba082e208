//! The calls for reserved service points.

use super::*;

calls! {
    guard fn dat_rsp_create(
        ia_handle: DAT_IA_HANDLE,
        conn_qual: DAT_CONN_QUAL,
        ep_handle: DAT_EP_HANDLE,
        evd_handle: DAT_EVD_HANDLE,
        rsp_handle: *mut DAT_RSP_HANDLE,
    ) = call::rsp::create, rsp_create_func: DAT_RSP_CREATE_FUNC of adapter;

    guard fn dat_rsp_query(
        rsp_handle: DAT_RSP_HANDLE,
        rsp_param_mask: DAT_RSP_PARAM_MASK,
        rsp_param: *mut DAT_RSP_PARAM,
    ) = call::rsp::query, rsp_query_func: DAT_RSP_QUERY_FUNC of object;

    guard fn dat_rsp_free(rsp_handle: DAT_RSP_HANDLE)
        = call::rsp::free, rsp_free_func: DAT_RSP_FREE_FUNC of object;
}
