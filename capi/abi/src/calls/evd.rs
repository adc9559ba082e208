//! The calls for event dispatchers.

table! { ($) evd_calls {
    grow fn dat_evd_resize(evd_handle: DAT_EVD_HANDLE, evd_min_qlen: DAT_COUNT)
        = call::evd::resize, evd_resize_func: DAT_EVD_RESIZE_FUNC of object;

    guard fn dat_evd_post_se(evd_handle: DAT_EVD_HANDLE, event: *const DAT_EVENT)
        = call::evd::post_se, evd_post_se_func: DAT_EVD_POST_SE_FUNC of object;

    guard_data_path fn dat_evd_dequeue(evd_handle: DAT_EVD_HANDLE, event: *mut DAT_EVENT)
        = call::evd::dequeue, evd_dequeue_func: DAT_EVD_DEQUEUE_FUNC;

    guard fn dat_evd_query(
        evd_handle: DAT_EVD_HANDLE,
        evd_param_mask: DAT_EVD_PARAM_MASK,
        evd_param: *mut DAT_EVD_PARAM,
    ) = call::evd::query, evd_query_func: DAT_EVD_QUERY_FUNC of object;

    guard fn dat_evd_free(evd_handle: DAT_EVD_HANDLE)
        = call::evd::free, evd_free_func: DAT_EVD_FREE_FUNC of object;

    grow fn dat_evd_create(
        ia_handle: DAT_IA_HANDLE,
        evd_min_qlen: DAT_COUNT,
        cno_handle: DAT_CNO_HANDLE,
        evd_flags: DAT_EVD_FLAGS,
        evd_handle: *mut DAT_EVD_HANDLE,
    ) = call::evd::create, evd_create_func: DAT_EVD_CREATE_FUNC of adapter
        undo dat_evd_free(evd_handle);

    grow fn dat_evd_modify_cno(evd_handle: DAT_EVD_HANDLE, cno_handle: DAT_CNO_HANDLE)
        = call::evd::modify_cno, evd_modify_cno_func: DAT_EVD_MODIFY_CNO_FUNC of object;

    guard fn dat_evd_enable(evd_handle: DAT_EVD_HANDLE)
        = call::evd::enable, evd_enable_func: DAT_EVD_ENABLE_FUNC of object;

    guard fn dat_evd_disable(evd_handle: DAT_EVD_HANDLE)
        = call::evd::disable, evd_disable_func: DAT_EVD_DISABLE_FUNC of object;

    guard fn dat_evd_set_unwaitable(evd_handle: DAT_EVD_HANDLE)
        = call::evd::set_unwaitable, evd_set_unwaitable_func: DAT_EVD_SET_UNWAITABLE_FUNC of object;

    guard fn dat_evd_clear_unwaitable(evd_handle: DAT_EVD_HANDLE)
        = call::evd::clear_unwaitable,
        evd_clear_unwaitable_func: DAT_EVD_CLEAR_UNWAITABLE_FUNC of object;

    plain fn dat_evd_wait(
        evd_handle: DAT_EVD_HANDLE,
        timeout: DAT_TIMEOUT,
        threshold: DAT_COUNT,
        event: *mut DAT_EVENT,
        n_more: *mut DAT_COUNT,
    ) = call::evd::wait, evd_wait_func: DAT_EVD_WAIT_FUNC;
}}
