//! Conversions between structures of the kernel's interface and those of `infiniband/verbs.h` and `infiniband/sa.h`.
//! The kernel's ones are those of `rdma/ib_user_verbs.h` and `rdma/ib_user_sa.h`.
#![allow(non_camel_case_types, reason = "the names are those of the header")]

use std::ffi::c_int;
use std::mem::MaybeUninit;

use rdma_verbs::sys::verbs::{ibv_ah_attr, ibv_gid, ibv_global_route, ibv_qp_attr, ibv_qp_cap};

use crate::object::with_fields;

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ib_uverbs_ah_attr {
    pub dgid: [u8; 16],
    pub flow_label: u32,
    pub sgid_index: u8,
    pub hop_limit: u8,
    pub traffic_class: u8,
    pub _reserved: u8,
    pub dlid: u16,
    pub sl: u8,
    pub src_path_bits: u8,
    pub static_rate: u8,
    pub is_global: u8,
    pub port_num: u8,
    pub _reserved2: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ib_uverbs_qp_attr {
    pub qp_attr_mask: u32,
    pub qp_state: u32,
    pub cur_qp_state: u32,
    pub path_mtu: u32,
    pub path_mig_state: u32,
    pub qkey: u32,
    pub rq_psn: u32,
    pub sq_psn: u32,
    pub dest_qp_num: u32,
    pub qp_access_flags: u32,
    pub ah_attr: ib_uverbs_ah_attr,
    pub alt_ah_attr: ib_uverbs_ah_attr,
    pub cap: ibv_qp_cap,
    pub pkey_index: u16,
    pub alt_pkey_index: u16,
    pub en_sqd_async_notify: u8,
    pub sq_draining: u8,
    pub max_rd_atomic: u8,
    pub max_dest_rd_atomic: u8,
    pub min_rnr_timer: u8,
    pub port_num: u8,
    pub timeout: u8,
    pub retry_cnt: u8,
    pub rnr_retry: u8,
    pub alt_port_num: u8,
    pub alt_timeout: u8,
    pub _reserved: [u8; 5],
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ib_user_path_rec {
    pub dgid: [u8; 16],
    pub sgid: [u8; 16],
    pub dlid: u16,
    pub slid: u16,
    pub raw_traffic: u32,
    pub flow_label: u32,
    pub reversible: u32,
    pub mtu: u32,
    pub pkey: u16,
    pub hop_limit: u8,
    pub traffic_class: u8,
    pub numb_path: u8,
    pub sl: u8,
    pub mtu_selector: u8,
    pub rate_selector: u8,
    pub rate: u8,
    pub packet_life_time_selector: u8,
    pub packet_life_time: u8,
    pub preference: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ibv_sa_path_rec {
    pub dgid: ibv_gid,
    pub sgid: ibv_gid,
    pub dlid: u16,
    pub slid: u16,
    pub raw_traffic: c_int,
    pub flow_label: u32,
    pub hop_limit: u8,
    pub traffic_class: u8,
    pub reversible: c_int,
    pub numb_path: u8,
    pub pkey: u16,
    pub sl: u8,
    pub mtu_selector: u8,
    pub mtu: u8,
    pub rate_selector: u8,
    pub rate: u8,
    pub packet_life_time_selector: u8,
    pub packet_life_time: u8,
    pub preference: u8,
}

fn address(from: &ib_uverbs_ah_attr) -> ibv_ah_attr {
    let grh = with_fields!(ibv_global_route of from: flow_label, sgid_index, hop_limit, traffic_class;
        dgid: ibv_gid { raw: from.dgid });
    with_fields!(ibv_ah_attr of from: dlid, sl, src_path_bits, static_rate, is_global, port_num; grh: grh)
}

/// Converts the attributes of an address handle.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_copy_ah_attr_from_kern(
    into: &mut MaybeUninit<ibv_ah_attr>,
    from: &ib_uverbs_ah_attr,
) {
    into.write(address(from));
}

/// Converts the attributes of a queue pair.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_copy_qp_attr_from_kern(
    into: &mut MaybeUninit<ibv_qp_attr>,
    from: &ib_uverbs_qp_attr,
) {
    let attributes = with_fields!(ibv_qp_attr of from:
        qp_state, cur_qp_state, path_mtu, path_mig_state, qkey, rq_psn, sq_psn, dest_qp_num, qp_access_flags, cap,
        pkey_index, alt_pkey_index, en_sqd_async_notify, sq_draining, max_rd_atomic, max_dest_rd_atomic,
        min_rnr_timer, port_num, timeout, retry_cnt, rnr_retry, alt_port_num, alt_timeout;
        ah_attr: address(&from.ah_attr), alt_ah_attr: address(&from.alt_ah_attr), rate_limit: 0);
    into.write(attributes);
}

/// Converts a path record of the kernel.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_copy_path_rec_from_kern(
    into: &mut MaybeUninit<ibv_sa_path_rec>,
    from: &ib_user_path_rec,
) {
    // The values of the enumeration of MTUs are small.
    let record = with_fields!(ibv_sa_path_rec of from:
        dlid, slid, flow_label, hop_limit, traffic_class, numb_path, pkey, sl, mtu_selector, rate_selector, rate,
        packet_life_time_selector, packet_life_time, preference;
        dgid: ibv_gid { raw: from.dgid }, sgid: ibv_gid { raw: from.sgid }, mtu: from.mtu as u8,
        raw_traffic: from.raw_traffic as c_int, reversible: from.reversible as c_int);
    into.write(record);
}

/// Converts a path record for the kernel.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_copy_path_rec_to_kern(
    into: &mut MaybeUninit<ib_user_path_rec>,
    from: &ibv_sa_path_rec,
) {
    let record = with_fields!(ib_user_path_rec of from:
        dlid, slid, flow_label, hop_limit, traffic_class, numb_path, pkey, sl, mtu_selector, rate_selector, rate,
        packet_life_time_selector, packet_life_time, preference;
        dgid: from.dgid.raw, sgid: from.sgid.raw, mtu: from.mtu.into(),
        raw_traffic: from.raw_traffic as u32, reversible: from.reversible as u32);
    into.write(record);
}
