//! The calls for notification objects.

table! { ($) cno_calls {
    grow fn dat_cno_create(
        ia_handle: DAT_IA_HANDLE,
        agent: DAT_OS_WAIT_PROXY_AGENT,
        cno_handle: *mut DAT_CNO_HANDLE,
    ) = call::cno::create, cno_create_func: DAT_CNO_CREATE_FUNC of adapter
        undo dat_cno_free(cno_handle);

    guard fn dat_cno_modify_agent(cno_handle: DAT_CNO_HANDLE, agent: DAT_OS_WAIT_PROXY_AGENT)
        = call::cno::modify_agent, cno_modify_agent_func: DAT_CNO_MODIFY_AGENT_FUNC of object;

    guard fn dat_cno_query(
        cno_handle: DAT_CNO_HANDLE,
        cno_param_mask: DAT_CNO_PARAM_MASK,
        cno_param: *mut DAT_CNO_PARAM,
    ) = call::cno::query, cno_query_func: DAT_CNO_QUERY_FUNC of object;

    guard fn dat_cno_free(cno_handle: DAT_CNO_HANDLE)
        = call::cno::free, cno_free_func: DAT_CNO_FREE_FUNC of object;

    plain fn dat_cno_wait(
        cno_handle: DAT_CNO_HANDLE,
        timeout: DAT_TIMEOUT,
        evd_handle: *mut DAT_EVD_HANDLE,
    ) = call::cno::wait, cno_wait_func: DAT_CNO_WAIT_FUNC;
} v2 {
    grow fn dat_cno_fd_create(
        ia_handle: DAT_IA_HANDLE,
        fd: *mut DAT_FD,
        cno_handle: *mut DAT_CNO_HANDLE,
    ) = call_v2::cno::fd_create, cno_fd_create_func: DAT_CNO_FD_CREATE_FUNC of adapter
        undo dat_cno_free(cno_handle);

    guard fn dat_cno_trigger(cno_handle: DAT_CNO_HANDLE, evd_handle: *mut DAT_EVD_HANDLE)
        = call_v2::cno::trigger, cno_trigger_func: DAT_CNO_TRIGGER_FUNC of object;
}}
