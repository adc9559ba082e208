//! The calls for notification objects.

use crate::abi::*;
use crate::call;

calls! {
    guard fn dat_cno_create(
        ia_handle: DAT_IA_HANDLE,
        agent: DAT_OS_WAIT_PROXY_AGENT,
        cno_handle: *mut DAT_CNO_HANDLE,
    ) = call::cno::create, cno_create_func of adapter;

    guard fn dat_cno_modify_agent(cno_handle: DAT_CNO_HANDLE, agent: DAT_OS_WAIT_PROXY_AGENT)
        = call::cno::modify_agent, cno_modify_agent_func of object;

    guard fn dat_cno_query(
        cno_handle: DAT_CNO_HANDLE,
        cno_param_mask: DAT_CNO_PARAM_MASK,
        cno_param: *mut DAT_CNO_PARAM,
    ) = call::cno::query, cno_query_func of object;

    guard fn dat_cno_free(cno_handle: DAT_CNO_HANDLE) = call::cno::free, cno_free_func of object;
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_cno_wait(
    cno_handle: DAT_CNO_HANDLE,
    timeout: DAT_TIMEOUT,
    evd_handle: *mut DAT_EVD_HANDLE,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    unsafe { call::cno::wait(cno_handle, timeout, evd_handle) }
}
