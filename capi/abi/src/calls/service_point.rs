//! The calls for public and reserved service points.

table! { ($) service_point_calls {
    grow fn dat_psp_create(
        ia_handle: DAT_IA_HANDLE,
        conn_qual: DAT_CONN_QUAL,
        evd_handle: DAT_EVD_HANDLE,
        psp_flags: DAT_PSP_FLAGS,
        psp_handle: *mut DAT_PSP_HANDLE,
    ) = call::psp::create, psp_create_func: DAT_PSP_CREATE_FUNC of adapter
        undo dat_psp_free(psp_handle);

    grow fn dat_psp_create_any(
        ia_handle: DAT_IA_HANDLE,
        conn_qual: *mut DAT_CONN_QUAL,
        evd_handle: DAT_EVD_HANDLE,
        psp_flags: DAT_PSP_FLAGS,
        psp_handle: *mut DAT_PSP_HANDLE,
    ) = call::psp::create_any, psp_create_any_func: DAT_PSP_CREATE_ANY_FUNC of adapter
        undo dat_psp_free(psp_handle);

    guard fn dat_psp_query(
        psp_handle: DAT_PSP_HANDLE,
        psp_param_mask: DAT_PSP_PARAM_MASK,
        psp_param: *mut DAT_PSP_PARAM,
    ) = call::psp::query, psp_query_func: DAT_PSP_QUERY_FUNC of object;

    guard fn dat_psp_free(psp_handle: DAT_PSP_HANDLE)
        = call::psp::free, psp_free_func: DAT_PSP_FREE_FUNC of object;

    grow fn dat_rsp_create(
        ia_handle: DAT_IA_HANDLE,
        conn_qual: DAT_CONN_QUAL,
        ep_handle: DAT_EP_HANDLE,
        evd_handle: DAT_EVD_HANDLE,
        rsp_handle: *mut DAT_RSP_HANDLE,
    ) = call::rsp::create, rsp_create_func: DAT_RSP_CREATE_FUNC of adapter
        undo dat_rsp_free(rsp_handle);

    guard fn dat_rsp_query(
        rsp_handle: DAT_RSP_HANDLE,
        rsp_param_mask: DAT_RSP_PARAM_MASK,
        rsp_param: *mut DAT_RSP_PARAM,
    ) = call::rsp::query, rsp_query_func: DAT_RSP_QUERY_FUNC of object;

    guard fn dat_rsp_free(rsp_handle: DAT_RSP_HANDLE)
        = call::rsp::free, rsp_free_func: DAT_RSP_FREE_FUNC of object;
} v2 {
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
}}
