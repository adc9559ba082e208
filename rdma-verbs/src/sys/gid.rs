//! Layouts and constants of `infiniband/verbs.h` for the GID table of a port.
#![allow(non_camel_case_types, reason = "the names are those of the header")]

use super::verbs::ibv_gid;

pub const IBV_GID_TYPE_IB: u32 = 0;
pub const IBV_GID_TYPE_ROCE_V1: u32 = 1;
pub const IBV_GID_TYPE_ROCE_V2: u32 = 2;

/// An entry of a GID table (ibv_query_gid_ex(3)). Its size is an argument of the calls.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ibv_gid_entry {
    pub gid: ibv_gid,
    pub gid_index: u32,
    pub port_num: u32,
    pub gid_type: u32,
    pub ndev_ifindex: u32,
}
