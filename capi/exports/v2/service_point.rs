//! The calls for common service points, as DAT 2.0 has them.

use super::*;

calls! {
    grow fn dat_csp_create(
        ia_handle: DAT_IA_HANDLE,
        comm: *mut DAT_COMM,
        address_ptr: DAT_IA_ADDRESS_PTR,
        evd_handle: DAT_EVD_HANDLE,
        csp_handle: *mut DAT_CSP_HANDLE,
    ) = call_v2::csp::create, csp_create_func: DAT_CSP_CREATE_FUNC of adapter
        undo dat_csp_free(csp_handle);

    guard fn dat_csp_query(
        csp_handle: DAT_CSP_HANDLE,
        csp_param_mask: DAT_CSP_PARAM_MASK,
        csp_param: *mut DAT_CSP_PARAM,
    ) = call_v2::csp::query, csp_query_func: DAT_CSP_QUERY_FUNC of object;

    guard fn dat_csp_free(csp_handle: DAT_CSP_HANDLE)
        = call_v2::csp::free, csp_free_func: DAT_CSP_FREE_FUNC of object;
}
