//! The calls for interface adapters.

table! { ($) ia_calls {
    guard fn dat_ia_query(
        ia_handle: DAT_IA_HANDLE,
        async_evd_handle: *mut DAT_EVD_HANDLE,
        ia_attr_mask: DAT_IA_ATTR_MASK,
        ia_attr: *mut DAT_IA_ATTR,
        provider_attr_mask: DAT_PROVIDER_ATTR_MASK,
        provider_attr: *mut DAT_PROVIDER_ATTR,
    ) = call::ia::query, ia_query_func: DAT_IA_QUERY_FUNC of adapter;

    guard fn dat_ia_close(ia_handle: DAT_IA_HANDLE, close_flags: DAT_CLOSE_FLAGS)
        = call::ia::close, ia_close_func: DAT_IA_CLOSE_FUNC;
}}
