//! Layouts of `infiniband/verbs.h` that were added later: the extended context, whose operations
//! precede the plain one in memory, and queue pairs with the `ibv_wr_*` calls.
#![allow(non_camel_case_types, reason = "the names are those of the header")]

use std::ffi::{c_int, c_uint, c_void};
use std::mem::offset_of;

use libc::size_t;

use super::verbs::{
    ibv_ah, ibv_context, ibv_cq, ibv_device_attr, ibv_mw, ibv_mw_bind_info, ibv_pd, ibv_qp,
    ibv_qp_cap, ibv_sge, ibv_srq,
};

/// Options that a device negotiates with its peer through the connection manager (ibv_set_ece(3)).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ibv_ece {
    pub vendor_id: u32,
    pub options: u32,
    pub comp_mask: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ibv_data_buf {
    pub addr: *mut c_void,
    pub length: size_t,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ibv_odp_caps {
    pub general_caps: u64,
    pub rc_odp_caps: u32,
    pub uc_odp_caps: u32,
    pub ud_odp_caps: u32,
}

/// The part of `struct ibv_device_attr_ex` up to the on-demand paging capabilities. The size is
/// an argument of the call, so a shorter structure is allowed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ibv_device_attr_ex {
    pub orig_attr: ibv_device_attr,
    pub comp_mask: u32,
    pub odp_caps: ibv_odp_caps,
    pub completion_timestamp_mask: u64,
    pub hca_core_clock: u64,
    pub device_cap_flags_ex: u64,
}

#[repr(C)]
pub struct ibv_qp_init_attr_ex {
    pub qp_context: *mut c_void,
    pub send_cq: *mut ibv_cq,
    pub recv_cq: *mut ibv_cq,
    pub srq: *mut ibv_srq,
    pub cap: ibv_qp_cap,
    pub qp_type: u32,
    pub sq_sig_all: c_int,
    pub comp_mask: u32,
    pub pd: *mut ibv_pd,
    pub xrcd: *mut c_void,
    pub create_flags: u32,
    pub max_tso_header: u16,
    pub rwq_ind_tbl: *mut c_void,
    pub rx_hash_conf: ibv_rx_hash_conf,
    pub source_qpn: u32,
    pub send_ops_flags: u64,
}

#[repr(C)]
pub struct ibv_rx_hash_conf {
    pub rx_hash_function: u8,
    pub rx_hash_key_len: u8,
    pub rx_hash_key: *mut u8,
    pub rx_hash_fields_mask: u64,
}

/// The end of `struct verbs_context`, which grows at its beginning, from the first operation that
/// this crate calls.
#[repr(C)]
pub struct verbs_context_tail {
    pub query_device_ex: Option<
        unsafe extern "C" fn(
            *mut ibv_context,
            *const c_void,
            *mut ibv_device_attr_ex,
            size_t,
        ) -> c_int,
    >,
    pub _flows_and_open_qp: [*const c_void; 5],
    pub create_qp_ex:
        Option<unsafe extern "C" fn(*mut ibv_context, *mut ibv_qp_init_attr_ex) -> *mut ibv_qp>,
    pub _srq_and_xrc: [*const c_void; 4],
    pub _abi_placeholder3: u64,
    pub sz: size_t,
    pub context: ibv_context,
}

/// The extended part of a context, if it has one that includes the field at that offset of the tail
/// (`verbs_get_ctx_op`).
///
/// # Safety
/// The context must be open.
pub unsafe fn extended(context: *mut ibv_context, field: usize) -> Option<*mut verbs_context_tail> {
    // SAFETY: the caller guarantees an open context.
    if unsafe { (*context).abi_compat }.addr() == usize::MAX {
        let start = offset_of!(verbs_context_tail, context);
        let tail = context.cast::<u8>().wrapping_sub(start).cast::<verbs_context_tail>();
        // SAFETY: an extended context has this part directly before the plain one.
        let size = unsafe { (*tail).sz };
        return (size >= size_of::<verbs_context_tail>() - field).then_some(tail);
    }
    None
}

/// A queue pair with the calls `ibv_wr_*` (ibv_wr_post(3)).
#[repr(C)]
pub struct ibv_qp_ex {
    pub qp_base: ibv_qp,
    pub comp_mask: u64,
    pub wr_id: u64,
    pub wr_flags: c_uint,
    pub wr_atomic_cmp_swp: Option<unsafe extern "C" fn(*mut Self, u32, u64, u64, u64)>,
    pub wr_atomic_fetch_add: Option<unsafe extern "C" fn(*mut Self, u32, u64, u64)>,
    pub wr_bind_mw:
        Option<unsafe extern "C" fn(*mut Self, *mut ibv_mw, u32, *const ibv_mw_bind_info)>,
    pub wr_local_inv: Option<unsafe extern "C" fn(*mut Self, u32)>,
    pub wr_rdma_read: Option<unsafe extern "C" fn(*mut Self, u32, u64)>,
    pub wr_rdma_write: Option<unsafe extern "C" fn(*mut Self, u32, u64)>,
    pub wr_rdma_write_imm: Option<unsafe extern "C" fn(*mut Self, u32, u64, u32)>,
    pub wr_send: Option<unsafe extern "C" fn(*mut Self)>,
    pub wr_send_imm: Option<unsafe extern "C" fn(*mut Self, u32)>,
    pub wr_send_inv: Option<unsafe extern "C" fn(*mut Self, u32)>,
    pub wr_send_tso: Option<unsafe extern "C" fn(*mut Self, *mut c_void, u16, u16)>,
    pub wr_set_ud_addr: Option<unsafe extern "C" fn(*mut Self, *mut ibv_ah, u32, u32)>,
    pub wr_set_xrc_srqn: Option<unsafe extern "C" fn(*mut Self, u32)>,
    pub wr_set_inline_data: Option<unsafe extern "C" fn(*mut Self, *mut c_void, size_t)>,
    pub wr_set_inline_data_list:
        Option<unsafe extern "C" fn(*mut Self, size_t, *const ibv_data_buf)>,
    pub wr_set_sge: Option<unsafe extern "C" fn(*mut Self, u32, u64, u32)>,
    pub wr_set_sge_list: Option<unsafe extern "C" fn(*mut Self, size_t, *const ibv_sge)>,
    pub wr_start: Option<unsafe extern "C" fn(*mut Self)>,
    pub wr_complete: Option<unsafe extern "C" fn(*mut Self) -> c_int>,
    pub wr_abort: Option<unsafe extern "C" fn(*mut Self)>,
}
