//! Layouts and constants of `infiniband/verbs.h` for extended completion queues, the device clock,
//! and the moderation of events.
#![allow(non_camel_case_types, reason = "the names are those of the header")]

use std::ffi::{c_int, c_uint, c_void};

use libc::{pthread_cond_t, pthread_mutex_t, timespec};

use super::verbs::{ibv_comp_channel, ibv_context, ibv_pd};

pub const IBV_WC_EX_WITH_BYTE_LEN: u64 = 1;
pub const IBV_WC_EX_WITH_IMM: u64 = 1 << 1;
pub const IBV_WC_EX_WITH_QP_NUM: u64 = 1 << 2;
pub const IBV_WC_EX_WITH_SRC_QP: u64 = 1 << 3;
pub const IBV_WC_EX_WITH_SLID: u64 = 1 << 4;
pub const IBV_WC_EX_WITH_SL: u64 = 1 << 5;
pub const IBV_WC_EX_WITH_DLID_PATH_BITS: u64 = 1 << 6;
pub const IBV_WC_EX_WITH_COMPLETION_TIMESTAMP: u64 = 1 << 7;
pub const IBV_WC_EX_WITH_CVLAN: u64 = 1 << 8;
pub const IBV_WC_EX_WITH_FLOW_TAG: u64 = 1 << 9;
pub const IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK: u64 = 1 << 11;
pub const IBV_WC_STANDARD_FLAGS: u64 = (1 << 7) - 1;

pub const IBV_CQ_INIT_ATTR_MASK_FLAGS: u32 = 1;
pub const IBV_CQ_INIT_ATTR_MASK_PD: u32 = 1 << 1;
pub const IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN: u32 = 1 << 1;

pub const IBV_CQ_ATTR_MODERATE: u32 = 1;
pub const IBV_VALUES_MASK_RAW_CLOCK: u32 = 1;

#[repr(C)]
pub struct ibv_cq_init_attr_ex {
    pub cqe: u32,
    pub cq_context: *mut c_void,
    pub channel: *mut ibv_comp_channel,
    pub comp_vector: u32,
    pub wc_flags: u64,
    pub comp_mask: u32,
    pub flags: u32,
    pub parent_domain: *mut ibv_pd,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ibv_poll_cq_attr {
    pub comp_mask: u32,
}

/// An extended completion queue: the fields of a plain one, then the current completion and the
/// calls `ibv_wc_read_*`. Of these only those exist whose fields the program requested.
#[repr(C)]
pub struct ibv_cq_ex {
    pub context: *mut ibv_context,
    pub channel: *mut ibv_comp_channel,
    pub cq_context: *mut c_void,
    pub handle: u32,
    pub cqe: c_int,
    pub mutex: pthread_mutex_t,
    pub cond: pthread_cond_t,
    pub comp_events_completed: u32,
    pub async_events_completed: u32,
    pub comp_mask: u32,
    pub status: u32,
    pub wr_id: u64,
    pub start_poll: Option<unsafe extern "C" fn(*mut Self, *mut ibv_poll_cq_attr) -> c_int>,
    pub next_poll: Option<unsafe extern "C" fn(*mut Self) -> c_int>,
    pub end_poll: Option<unsafe extern "C" fn(*mut Self)>,
    pub read_opcode: Option<unsafe extern "C" fn(*mut Self) -> c_uint>,
    pub read_vendor_err: Option<unsafe extern "C" fn(*mut Self) -> u32>,
    pub read_byte_len: Option<unsafe extern "C" fn(*mut Self) -> u32>,
    pub read_imm_data: Option<unsafe extern "C" fn(*mut Self) -> u32>,
    pub read_qp_num: Option<unsafe extern "C" fn(*mut Self) -> u32>,
    pub read_src_qp: Option<unsafe extern "C" fn(*mut Self) -> u32>,
    pub read_wc_flags: Option<unsafe extern "C" fn(*mut Self) -> c_uint>,
    pub read_slid: Option<unsafe extern "C" fn(*mut Self) -> u32>,
    pub read_sl: Option<unsafe extern "C" fn(*mut Self) -> u8>,
    pub read_dlid_path_bits: Option<unsafe extern "C" fn(*mut Self) -> u8>,
    pub read_completion_ts: Option<unsafe extern "C" fn(*mut Self) -> u64>,
    pub read_cvlan: Option<unsafe extern "C" fn(*mut Self) -> u16>,
    pub read_flow_tag: Option<unsafe extern "C" fn(*mut Self) -> u32>,
    pub read_tm_info: Option<unsafe extern "C" fn(*mut Self, *mut c_void)>,
    pub read_completion_wallclock_ns: Option<unsafe extern "C" fn(*mut Self) -> u64>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ibv_values_ex {
    pub comp_mask: u32,
    pub raw_clock: timespec,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ibv_moderate_cq {
    pub cq_count: u16,
    pub cq_period: u16,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ibv_modify_cq_attr {
    pub attr_mask: u32,
    pub moderate: ibv_moderate_cq,
}
