//! The function table to which Rust objects point, for programs that use the redirection macros.

use std::ffi::c_char;

use crate::abi::*;
use crate::call;
use crate::dialect;
use crate::exports::*;
use crate::guard;

/// Opens an adapter for a caller that uses the provider's own address of it.
unsafe extern "C-unwind" fn ia_open(
    name: DAT_NAME_PTR,
    async_evd_min_qlen: DAT_COUNT,
    async_evd_handle: *mut DAT_EVD_HANDLE,
    ia_handle: *mut DAT_IA_HANDLE,
) -> DAT_RETURN {
    guard(|| {
        // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
        unsafe { call::ia::open_by_table(name, async_evd_min_qlen, async_evd_handle, ia_handle) }
    })
}

/// The functions of a Rust provider, with the name of an adapter.
pub(crate) fn functions(device_name: *const c_char) -> DAT_PROVIDER {
    // SAFETY: the struct has only addresses and optional functions, for which zero is valid.
    let mut table: DAT_PROVIDER = unsafe { std::mem::zeroed() };
    table.device_name = device_name;
    table.ia_open_func = Some(ia_open);
    table.ia_query_func = Some(dat_ia_query);
    table.ia_close_func = Some(dat_ia_close);
    table.set_consumer_context_func = Some(dat_set_consumer_context);
    table.get_consumer_context_func = Some(dat_get_consumer_context);
    table.get_handle_type_func = Some(dat_get_handle_type);
    table.cno_create_func = Some(dat_cno_create);
    table.cno_modify_agent_func = Some(dat_cno_modify_agent);
    table.cno_query_func = Some(dat_cno_query);
    table.cno_free_func = Some(dat_cno_free);
    table.cno_wait_func = Some(dat_cno_wait);
    table.cr_query_func = Some(dat_cr_query);
    table.cr_accept_func = Some(dat_cr_accept);
    table.cr_reject_func = Some(dat_cr_reject);
    table.cr_handoff_func = Some(dat_cr_handoff);
    table.evd_create_func = Some(dat_evd_create);
    table.evd_query_func = Some(dat_evd_query);
    table.evd_modify_cno_func = Some(dat_evd_modify_cno);
    table.evd_enable_func = Some(dat_evd_enable);
    table.evd_disable_func = Some(dat_evd_disable);
    table.evd_wait_func = Some(dat_evd_wait);
    table.evd_resize_func = Some(dat_evd_resize);
    table.evd_post_se_func = Some(dat_evd_post_se);
    table.evd_dequeue_func = Some(dat_evd_dequeue);
    table.evd_free_func = Some(dat_evd_free);
    table.ep_create_func = Some(dat_ep_create);
    table.ep_query_func = Some(dat_ep_query);
    table.ep_modify_func = Some(dat_ep_modify);
    table.ep_connect_func = Some(dat_ep_connect);
    table.ep_dup_connect_func = Some(dat_ep_dup_connect);
    table.ep_disconnect_func = Some(dat_ep_disconnect);
    table.ep_post_send_func = Some(dat_ep_post_send);
    table.ep_post_recv_func = Some(dat_ep_post_recv);
    table.ep_post_rdma_read_func = Some(dat_ep_post_rdma_read);
    table.ep_post_rdma_write_func = Some(dat_ep_post_rdma_write);
    table.ep_get_status_func = Some(dat_ep_get_status);
    table.ep_free_func = Some(dat_ep_free);
    table.lmr_create_func = Some(dat_lmr_create);
    table.lmr_query_func = Some(dat_lmr_query);
    table.lmr_free_func = Some(dat_lmr_free);
    table.rmr_create_func = Some(dat_rmr_create);
    table.rmr_query_func = Some(dat_rmr_query);
    table.rmr_bind_func = Some(dat_rmr_bind);
    table.rmr_free_func = Some(dat_rmr_free);
    table.psp_create_func = Some(dat_psp_create);
    table.psp_query_func = Some(dat_psp_query);
    table.psp_free_func = Some(dat_psp_free);
    table.rsp_create_func = Some(dat_rsp_create);
    table.rsp_query_func = Some(dat_rsp_query);
    table.rsp_free_func = Some(dat_rsp_free);
    table.pz_create_func = Some(dat_pz_create);
    table.pz_query_func = Some(dat_pz_query);
    table.pz_free_func = Some(dat_pz_free);
    table.psp_create_any_func = Some(dat_psp_create_any);
    table.ep_reset_func = Some(dat_ep_reset);
    table.evd_set_unwaitable_func = Some(dat_evd_set_unwaitable);
    table.evd_clear_unwaitable_func = Some(dat_evd_clear_unwaitable);
    table.lmr_sync_rdma_read_func = Some(dat_lmr_sync_rdma_read);
    table.lmr_sync_rdma_write_func = Some(dat_lmr_sync_rdma_write);
    table.ep_create_with_srq_func = Some(dat_ep_create_with_srq);
    table.ep_recv_query_func = Some(dat_ep_recv_query);
    table.ep_set_watermark_func = Some(dat_ep_set_watermark);
    table.srq_create_func = Some(dat_srq_create);
    table.srq_free_func = Some(dat_srq_free);
    table.srq_post_recv_func = Some(dat_srq_post_recv);
    table.srq_query_func = Some(dat_srq_query);
    table.srq_resize_func = Some(dat_srq_resize);
    table.srq_set_lw_func = Some(dat_srq_set_lw);
    dialect::more_functions(&mut table);
    table
}
