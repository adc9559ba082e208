//! The calls for handles of any kind.

table! { ($) generic_calls {
    guard_data_path fn dat_set_consumer_context(handle: DAT_HANDLE, context: DAT_CONTEXT)
        = call::generic::set_consumer_context,
        set_consumer_context_func: DAT_SET_CONSUMER_CONTEXT_FUNC of adapter;

    guard_data_path fn dat_get_consumer_context(handle: DAT_HANDLE, context: *mut DAT_CONTEXT)
        = call::generic::get_consumer_context,
        get_consumer_context_func: DAT_GET_CONSUMER_CONTEXT_FUNC of adapter;

    guard_data_path fn dat_get_handle_type(handle: DAT_HANDLE, handle_type: *mut DAT_HANDLE_TYPE)
        = call::generic::get_handle_type, get_handle_type_func: DAT_GET_HANDLE_TYPE_FUNC of adapter;
}}
