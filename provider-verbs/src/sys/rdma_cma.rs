//! Layouts and constants of `rdma/rdma_cma.h`.
#![allow(non_camel_case_types, reason = "the names are those of the header")]
#![allow(dead_code, reason = "a layout has every field, used or not")]

use std::ffi::{c_char, c_int, c_void};

use libc::{size_t, sockaddr, sockaddr_storage, socklen_t};

use super::verbs::{
    ibv_ah_attr, ibv_comp_channel, ibv_context, ibv_cq, ibv_gid, ibv_pd, ibv_qp, ibv_srq,
};

pub(crate) const RDMA_PS_TCP: u32 = 0x0106;
pub(crate) const RDMA_PS_UDP: u32 = 0x0111;
pub(crate) const RDMA_PS_IB: u32 = 0x013f;

pub(crate) const RDMA_CM_EVENT_ADDR_RESOLVED: u32 = 0;
pub(crate) const RDMA_CM_EVENT_ADDR_ERROR: u32 = 1;
pub(crate) const RDMA_CM_EVENT_ROUTE_RESOLVED: u32 = 2;
pub(crate) const RDMA_CM_EVENT_ROUTE_ERROR: u32 = 3;
pub(crate) const RDMA_CM_EVENT_CONNECT_REQUEST: u32 = 4;
pub(crate) const RDMA_CM_EVENT_CONNECT_RESPONSE: u32 = 5;
pub(crate) const RDMA_CM_EVENT_CONNECT_ERROR: u32 = 6;
pub(crate) const RDMA_CM_EVENT_UNREACHABLE: u32 = 7;
pub(crate) const RDMA_CM_EVENT_REJECTED: u32 = 8;
pub(crate) const RDMA_CM_EVENT_ESTABLISHED: u32 = 9;
pub(crate) const RDMA_CM_EVENT_DISCONNECTED: u32 = 10;
pub(crate) const RDMA_CM_EVENT_DEVICE_REMOVAL: u32 = 11;
pub(crate) const RDMA_CM_EVENT_ADDR_CHANGE: u32 = 14;
pub(crate) const RDMA_CM_EVENT_TIMEWAIT_EXIT: u32 = 15;

pub(crate) const RAI_PASSIVE: c_int = 1;

pub(crate) const RDMA_OPTION_ID: c_int = 0;
pub(crate) const RDMA_OPTION_ID_TOS: c_int = 0;

/// The queue key of the datagram queue pairs that the library makes.
pub(crate) const RDMA_UDP_QKEY: u32 = 0x0123_4567;

#[repr(C)]
pub(crate) struct rdma_ib_addr {
    pub(crate) sgid: ibv_gid,
    pub(crate) dgid: ibv_gid,
    pub(crate) pkey: u16,
}

#[repr(C)]
pub(crate) struct rdma_addr {
    pub(crate) src: sockaddr_storage,
    pub(crate) dst: sockaddr_storage,
    pub(crate) ib: rdma_ib_addr,
}

#[repr(C)]
pub(crate) struct rdma_route {
    pub(crate) addr: rdma_addr,
    pub(crate) path_rec: *mut c_void,
    pub(crate) num_paths: c_int,
}

#[repr(C)]
pub(crate) struct rdma_event_channel {
    pub(crate) fd: c_int,
}

#[repr(C)]
pub(crate) struct rdma_cm_id {
    pub(crate) verbs: *mut ibv_context,
    pub(crate) channel: *mut rdma_event_channel,
    pub(crate) context: *mut c_void,
    pub(crate) qp: *mut ibv_qp,
    pub(crate) route: rdma_route,
    pub(crate) ps: u32,
    pub(crate) port_num: u8,
    pub(crate) event: *mut rdma_cm_event,
    pub(crate) send_cq_channel: *mut ibv_comp_channel,
    pub(crate) send_cq: *mut ibv_cq,
    pub(crate) recv_cq_channel: *mut ibv_comp_channel,
    pub(crate) recv_cq: *mut ibv_cq,
    pub(crate) srq: *mut ibv_srq,
    pub(crate) pd: *mut ibv_pd,
    pub(crate) qp_type: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct rdma_conn_param {
    pub(crate) private_data: *const c_void,
    pub(crate) private_data_len: u8,
    pub(crate) responder_resources: u8,
    pub(crate) initiator_depth: u8,
    pub(crate) flow_control: u8,
    pub(crate) retry_count: u8,
    pub(crate) rnr_retry_count: u8,
    pub(crate) srq: u8,
    pub(crate) qp_num: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct rdma_ud_param {
    pub(crate) private_data: *const c_void,
    pub(crate) private_data_len: u8,
    pub(crate) ah_attr: ibv_ah_attr,
    pub(crate) qp_num: u32,
    pub(crate) qkey: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union rdma_cm_event_param {
    pub(crate) conn: rdma_conn_param,
    pub(crate) ud: rdma_ud_param,
}

#[repr(C)]
pub(crate) struct rdma_cm_event {
    pub(crate) id: *mut rdma_cm_id,
    pub(crate) listen_id: *mut rdma_cm_id,
    pub(crate) event: u32,
    pub(crate) status: c_int,
    pub(crate) param: rdma_cm_event_param,
}

#[repr(C)]
pub(crate) struct rdma_addrinfo {
    pub(crate) ai_flags: c_int,
    pub(crate) ai_family: c_int,
    pub(crate) ai_qp_type: c_int,
    pub(crate) ai_port_space: c_int,
    pub(crate) ai_src_len: socklen_t,
    pub(crate) ai_dst_len: socklen_t,
    pub(crate) ai_src_addr: *mut sockaddr,
    pub(crate) ai_dst_addr: *mut sockaddr,
    pub(crate) ai_src_canonname: *mut c_char,
    pub(crate) ai_dst_canonname: *mut c_char,
    pub(crate) ai_route_len: size_t,
    pub(crate) ai_route: *mut c_void,
    pub(crate) ai_connect_len: size_t,
    pub(crate) ai_connect: *mut c_void,
    pub(crate) ai_next: *mut rdma_addrinfo,
}
