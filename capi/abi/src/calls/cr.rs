//! The calls for connection requests.

table! { ($) cr_calls {
    guard fn dat_cr_query(
        cr_handle: DAT_CR_HANDLE,
        cr_param_mask: DAT_CR_PARAM_MASK,
        cr_param: *mut DAT_CR_PARAM,
    ) = call::cr::query, cr_query_func: DAT_CR_QUERY_FUNC of object;

    grow fn dat_cr_accept(
        cr_handle: DAT_CR_HANDLE,
        ep_handle: DAT_EP_HANDLE,
        private_data_size: DAT_COUNT,
        private_data: DAT_PVOID,
    ) = call::cr::accept, cr_accept_func: DAT_CR_ACCEPT_FUNC of object;

    grow fn dat_cr_handoff(cr_handle: DAT_CR_HANDLE, conn_qual: DAT_CONN_QUAL)
        = call::cr::handoff, cr_handoff_func: DAT_CR_HANDOFF_FUNC of object;
} v1 {
    guard fn dat_cr_reject(cr_handle: DAT_CR_HANDLE)
        = version::cr_reject, cr_reject_func: DAT_CR_REJECT_FUNC of object;
} v2 {
    guard fn dat_cr_reject(
        cr_handle: DAT_CR_HANDLE,
        private_data_size: DAT_COUNT,
        private_data: DAT_PVOID,
    ) = call::cr::reject, cr_reject_func: DAT_CR_REJECT_FUNC of object;
}}
