//! The calls for endpoints.

use crate::abi::*;
use crate::call;
use crate::{guard, guard_data_path};

/// Creates an endpoint (dat_ep_create(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_create(
    ia_handle: DAT_IA_HANDLE,
    pz_handle: DAT_PZ_HANDLE,
    recv_evd_handle: DAT_EVD_HANDLE,
    request_evd_handle: DAT_EVD_HANDLE,
    connect_evd_handle: DAT_EVD_HANDLE,
    ep_attr: *const DAT_EP_ATTR,
    ep_handle: *mut DAT_EP_HANDLE,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe {
        call::ep::create(
            ia_handle,
            pz_handle,
            recv_evd_handle,
            request_evd_handle,
            connect_evd_handle,
            ep_attr,
            ep_handle,
        )
    })
}

/// Returns the parameters of an endpoint (dat_ep_query(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_query(
    ep_handle: DAT_EP_HANDLE,
    ep_param_mask: DAT_EP_PARAM_MASK,
    ep_param: *mut DAT_EP_PARAM,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::ep::query(ep_handle, ep_param_mask, ep_param) })
}

/// Modifies the parameters of an endpoint (dat_ep_modify(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_modify(
    ep_handle: DAT_EP_HANDLE,
    ep_param_mask: DAT_EP_PARAM_MASK,
    ep_param: *const DAT_EP_PARAM,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::ep::modify(ep_handle, ep_param_mask, ep_param) })
}

/// Connects an endpoint (dat_ep_connect(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_connect(
    ep_handle: DAT_EP_HANDLE,
    remote_ia_address: DAT_IA_ADDRESS_PTR,
    remote_conn_qual: DAT_CONN_QUAL,
    timeout: DAT_TIMEOUT,
    private_data_size: DAT_COUNT,
    private_data: DAT_PVOID,
    qos: DAT_QOS,
    connect_flags: DAT_CONNECT_FLAGS,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe {
        call::ep::connect(
            ep_handle,
            remote_ia_address,
            remote_conn_qual,
            timeout,
            private_data_size,
            private_data,
            qos,
            connect_flags,
        )
    })
}

/// Connects to the remote service that another endpoint is connected to (dat_ep_dup_connect(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_dup_connect(
    ep_handle: DAT_EP_HANDLE,
    dup_ep_handle: DAT_EP_HANDLE,
    timeout: DAT_TIMEOUT,
    private_data_size: DAT_COUNT,
    private_data: DAT_PVOID,
    qos: DAT_QOS,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe {
        call::ep::dup_connect(
            ep_handle,
            dup_ep_handle,
            timeout,
            private_data_size,
            private_data,
            qos,
        )
    })
}

/// Disconnects an endpoint (dat_ep_disconnect(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_disconnect(
    ep_handle: DAT_EP_HANDLE,
    close_flags: DAT_CLOSE_FLAGS,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::ep::disconnect(ep_handle, close_flags) })
}

/// Returns the state of an endpoint (dat_ep_get_status(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_get_status(
    ep_handle: DAT_EP_HANDLE,
    ep_state: *mut DAT_EP_STATE,
    recv_idle: *mut DAT_BOOLEAN,
    request_idle: *mut DAT_BOOLEAN,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_data_path(|| unsafe {
        call::ep::get_status(ep_handle, ep_state, recv_idle, request_idle)
    })
}

/// Frees an endpoint (dat_ep_free(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_free(ep_handle: DAT_EP_HANDLE) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::ep::free(ep_handle) })
}

/// Resets a disconnected endpoint to the unconnected state (dat_ep_reset(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_reset(ep_handle: DAT_EP_HANDLE) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call::ep::reset(ep_handle) })
}

/// Creates an endpoint that uses a shared receive queue (dat_ep_create_with_srq(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_create_with_srq(
    ia_handle: DAT_IA_HANDLE,
    pz_handle: DAT_PZ_HANDLE,
    recv_evd_handle: DAT_EVD_HANDLE,
    request_evd_handle: DAT_EVD_HANDLE,
    connect_evd_handle: DAT_EVD_HANDLE,
    srq_handle: DAT_SRQ_HANDLE,
    ep_attr: *const DAT_EP_ATTR,
    ep_handle: *mut DAT_EP_HANDLE,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe {
        call::ep::create_with_srq(
            ia_handle,
            pz_handle,
            recv_evd_handle,
            request_evd_handle,
            connect_evd_handle,
            srq_handle,
            ep_attr,
            ep_handle,
        )
    })
}

/// Returns the number of receive buffers at an endpoint (dat_ep_recv_query(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_recv_query(
    ep_handle: DAT_EP_HANDLE,
    nbufs_allocated: *mut DAT_COUNT,
    bufs_alloc_span: *mut DAT_COUNT,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_data_path(|| unsafe { call::ep::recv_query(ep_handle, nbufs_allocated, bufs_alloc_span) })
}

/// Sets the receive watermarks of an endpoint (dat_ep_set_watermark(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ep_set_watermark(
    ep_handle: DAT_EP_HANDLE,
    soft_high_watermark: DAT_COUNT,
    hard_high_watermark: DAT_COUNT,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe {
        call::ep::set_watermark(ep_handle, soft_high_watermark, hard_high_watermark)
    })
}
