//! The calls for reserved service points.

use crate::abi::*;
use crate::call;

calls! {
    guard fn dat_rsp_create(
        ia_handle: DAT_IA_HANDLE,
        conn_qual: DAT_CONN_QUAL,
        ep_handle: DAT_EP_HANDLE,
        evd_handle: DAT_EVD_HANDLE,
        rsp_handle: *mut DAT_RSP_HANDLE,
    ) = call::rsp::create, rsp_create_func of adapter;

    guard fn dat_rsp_query(
        rsp_handle: DAT_RSP_HANDLE,
        rsp_param_mask: DAT_RSP_PARAM_MASK,
        rsp_param: *mut DAT_RSP_PARAM,
    ) = call::rsp::query, rsp_query_func of object;

    guard fn dat_rsp_free(rsp_handle: DAT_RSP_HANDLE) = call::rsp::free, rsp_free_func of object;
}
