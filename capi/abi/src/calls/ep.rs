//! The calls for endpoints.

table! { ($) ep_calls {
    grow fn dat_ep_create(
        ia_handle: DAT_IA_HANDLE,
        pz_handle: DAT_PZ_HANDLE,
        recv_evd_handle: DAT_EVD_HANDLE,
        request_evd_handle: DAT_EVD_HANDLE,
        connect_evd_handle: DAT_EVD_HANDLE,
        ep_attr: *const DAT_EP_ATTR,
        ep_handle: *mut DAT_EP_HANDLE,
    ) = call::ep_create::create, ep_create_func: DAT_EP_CREATE_FUNC of adapter
        undo dat_ep_free(ep_handle);

    guard fn dat_ep_query(
        ep_handle: DAT_EP_HANDLE,
        ep_param_mask: DAT_EP_PARAM_MASK,
        ep_param: *mut DAT_EP_PARAM,
    ) = call::ep::query, ep_query_func: DAT_EP_QUERY_FUNC of object;

    grow fn dat_ep_modify(
        ep_handle: DAT_EP_HANDLE,
        ep_param_mask: DAT_EP_PARAM_MASK,
        ep_param: *const DAT_EP_PARAM,
    ) = call::ep::modify, ep_modify_func: DAT_EP_MODIFY_FUNC of object;

    grow fn dat_ep_connect(
        ep_handle: DAT_EP_HANDLE,
        remote_ia_address: DAT_IA_ADDRESS_PTR,
        remote_conn_qual: DAT_CONN_QUAL,
        timeout: DAT_TIMEOUT,
        private_data_size: DAT_COUNT,
        private_data: DAT_PVOID,
        qos: DAT_QOS,
        connect_flags: DAT_CONNECT_FLAGS,
    ) = call::ep::connect, ep_connect_func: DAT_EP_CONNECT_FUNC of object;

    grow fn dat_ep_dup_connect(
        ep_handle: DAT_EP_HANDLE,
        dup_ep_handle: DAT_EP_HANDLE,
        timeout: DAT_TIMEOUT,
        private_data_size: DAT_COUNT,
        private_data: DAT_PVOID,
        qos: DAT_QOS,
    ) = call::ep::dup_connect, ep_dup_connect_func: DAT_EP_DUP_CONNECT_FUNC of object;

    guard fn dat_ep_disconnect(ep_handle: DAT_EP_HANDLE, close_flags: DAT_CLOSE_FLAGS)
        = call::ep::disconnect, ep_disconnect_func: DAT_EP_DISCONNECT_FUNC of object;

    guard_data_path fn dat_ep_get_status(
        ep_handle: DAT_EP_HANDLE,
        ep_state: *mut DAT_EP_STATE,
        recv_idle: *mut DAT_BOOLEAN,
        request_idle: *mut DAT_BOOLEAN,
    ) = call::ep::get_status, ep_get_status_func: DAT_EP_GET_STATUS_FUNC of object;

    guard fn dat_ep_free(ep_handle: DAT_EP_HANDLE)
        = call::ep::free, ep_free_func: DAT_EP_FREE_FUNC of object;

    guard fn dat_ep_reset(ep_handle: DAT_EP_HANDLE)
        = call::ep::reset, ep_reset_func: DAT_EP_RESET_FUNC of object;

    grow fn dat_ep_create_with_srq(
        ia_handle: DAT_IA_HANDLE,
        pz_handle: DAT_PZ_HANDLE,
        recv_evd_handle: DAT_EVD_HANDLE,
        request_evd_handle: DAT_EVD_HANDLE,
        connect_evd_handle: DAT_EVD_HANDLE,
        srq_handle: DAT_SRQ_HANDLE,
        ep_attr: *const DAT_EP_ATTR,
        ep_handle: *mut DAT_EP_HANDLE,
    ) = call::ep_create::create_with_srq,
        ep_create_with_srq_func: DAT_EP_CREATE_WITH_SRQ_FUNC of adapter
        undo dat_ep_free(ep_handle);

    guard_data_path fn dat_ep_recv_query(
        ep_handle: DAT_EP_HANDLE,
        nbufs_allocated: *mut DAT_COUNT,
        bufs_alloc_span: *mut DAT_COUNT,
    ) = call::ep::recv_query, ep_recv_query_func: DAT_EP_RECV_QUERY_FUNC of object;

    guard fn dat_ep_set_watermark(
        ep_handle: DAT_EP_HANDLE,
        soft_high_watermark: DAT_COUNT,
        hard_high_watermark: DAT_COUNT,
    ) = call::ep::set_watermark, ep_set_watermark_func: DAT_EP_SET_WATERMARK_FUNC of object;
} v2 {
    grow fn dat_ep_common_connect(
        ep_handle: DAT_EP_HANDLE,
        remote_ia_address: DAT_IA_ADDRESS_PTR,
        timeout: DAT_TIMEOUT,
        private_data_size: DAT_COUNT,
        private_data: DAT_PVOID,
    ) = call_v2::ep::common_connect, ep_common_connect_func: DAT_EP_COMMON_CONNECT_FUNC of object;
}}
