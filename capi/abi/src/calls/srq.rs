//! The calls for shared receive queues.

table! { ($) srq_calls {
    grow fn dat_srq_create(
        ia_handle: DAT_IA_HANDLE,
        pz_handle: DAT_PZ_HANDLE,
        srq_attr: *mut DAT_SRQ_ATTR,
        srq_handle: *mut DAT_SRQ_HANDLE,
    ) = call::srq::create, srq_create_func: DAT_SRQ_CREATE_FUNC of adapter
        undo dat_srq_free(srq_handle);

    guard fn dat_srq_free(srq_handle: DAT_SRQ_HANDLE)
        = call::srq::free, srq_free_func: DAT_SRQ_FREE_FUNC of object;

    guard_data_path fn dat_srq_post_recv(
        srq_handle: DAT_SRQ_HANDLE,
        num_segments: DAT_COUNT,
        local_iov: *mut DAT_LMR_TRIPLET,
        user_cookie: DAT_DTO_COOKIE,
    ) = call::srq::post_recv, srq_post_recv_func: DAT_SRQ_POST_RECV_FUNC of object;

    guard fn dat_srq_query(
        srq_handle: DAT_SRQ_HANDLE,
        srq_param_mask: DAT_SRQ_PARAM_MASK,
        srq_param: *mut DAT_SRQ_PARAM,
    ) = call::srq::query, srq_query_func: DAT_SRQ_QUERY_FUNC of object;

    grow fn dat_srq_resize(srq_handle: DAT_SRQ_HANDLE, max_recv_dtos: DAT_COUNT)
        = call::srq::resize, srq_resize_func: DAT_SRQ_RESIZE_FUNC of object;

    guard fn dat_srq_set_lw(srq_handle: DAT_SRQ_HANDLE, low_watermark: DAT_COUNT)
        = call::srq::set_lw, srq_set_lw_func: DAT_SRQ_SET_LW_FUNC of object;
}}
