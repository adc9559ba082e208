//! The attributes of a device and its port (ibv_query_device(3), ibv_query_device_ex(3), ibv_query_port(3)).

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use dat_soft_verbs::{DeviceAttributes, PortAttributes};
use libc::size_t;
use rdma_verbs::sys::device_ex::{IBV_ODP_SUPPORT, ibv_device_attr_ex};
use rdma_verbs::sys::verbs::{ibv_context, ibv_device_attr, ibv_port_attr};

use super::{context, device};
use crate::guard::{self, invalid};
use crate::object::{Zero, write_known};

/// The size of `ibv_port_attr` before its last field: what the function of the library, unlike the header's, fills.
const OLD_PORT_SIZE: usize = std::mem::offset_of!(ibv_port_attr, port_cap_flags2);

/// Number of multicast groups: those that the socket of a queue pair may join (igmp_max_memberships).
const MAX_GROUPS: c_int = 20;

/// The attributes of a device: 0 or an errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_query_device(
    context: *mut ibv_context,
    attributes: &mut MaybeUninit<ibv_device_attr>,
) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees an open context.
        let from = unsafe { context::core(context) }.attributes();
        attributes.write(device_attributes(&from));
        Ok(())
    })
}

/// The attributes of a port, without the field that was added last: 0 or an errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_query_port(
    context: *mut ibv_context,
    port: u8,
    attributes: *mut ibv_port_attr,
) -> c_int {
    // SAFETY: the caller guarantees both, and the structure has this size at least.
    unsafe { query_port(context, port, attributes, OLD_PORT_SIZE) }
}

/// The operation of the header's `ibv_query_port`.
pub(crate) unsafe extern "C" fn query_port(
    context: *mut ibv_context,
    port: u8,
    attributes: *mut ibv_port_attr,
    size: size_t,
) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees an open context.
        let from = port_attributes(&unsafe { context::core(context) }.port(port)?);
        // SAFETY: the caller guarantees this number of bytes.
        unsafe { write_known(&from, attributes, size) };
        Ok(())
    })
}

/// The operation of `ibv_query_device_ex`.
pub(crate) unsafe extern "C" fn query_device_ex(
    context: *mut ibv_context,
    _input: *const c_void,
    attributes: *mut ibv_device_attr_ex,
    size: size_t,
) -> c_int {
    guard::status(|| {
        if size < size_of::<ibv_device_attr>() {
            return Err(invalid(format!(
                "cannot query the device into {size} bytes: they are too few"
            )));
        }
        // SAFETY: the caller guarantees an open context.
        let from = unsafe { context::core(context) }.attributes();
        let mut extended = ibv_device_attr_ex::zero();
        extended.orig_attr = device_attributes(&from);
        // All memory is paged on demand: a region pins nothing.
        let odp = &mut extended.odp_caps;
        odp.general_caps = IBV_ODP_SUPPORT;
        odp.rc_odp_caps = 0x3f;
        odp.uc_odp_caps = 0x27;
        odp.ud_odp_caps = 0x23;
        // The clock of the system, in nanoseconds.
        extended.completion_timestamp_mask = u64::MAX;
        extended.hca_core_clock = 1_000_000;
        extended.device_cap_flags_ex = from.device_cap_flags.into();
        extended.phys_port_cnt_ex = from.phys_port_cnt.into();
        // SAFETY: the caller guarantees this number of bytes.
        unsafe { write_known(&extended, attributes, size) };
        Ok(())
    })
}

/// A limit as C has it.
fn limit(value: u32) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

/// Copies fields that two structures have in common; of another type by a function.
macro_rules! copy {
    ($from:ident => $to:ident: $($field:ident),+) => { $($to.$field = $from.$field;)+ };
    ($from:ident => $to:ident by $convert:ident: $($field:ident),+) => {
        $($to.$field = $convert($from.$field);)+
    };
}

fn device_attributes(from: &DeviceAttributes) -> ibv_device_attr {
    let mut to = ibv_device_attr::zero();
    device::write(&mut to.fw_ver, &from.firmware_version);
    to.node_guid = u64::from_ne_bytes(from.node_guid);
    to.sys_image_guid = to.node_guid;
    copy!(from => to: max_mr_size, page_size_cap, vendor_id, vendor_part_id, device_cap_flags);
    copy!(from => to: atomic_cap, max_pkeys, phys_port_cnt);
    copy!(from => to by limit: max_qp, max_qp_wr, max_sge, max_cq, max_cqe, max_mr, max_pd, max_mw, max_ah);
    copy!(from => to by limit: max_qp_rd_atom, max_res_rd_atom, max_qp_init_rd_atom);
    copy!(from => to by limit: max_srq, max_srq_wr, max_srq_sge);
    to.max_sge_rd = to.max_sge;
    to.max_mcast_grp = MAX_GROUPS;
    to.max_mcast_qp_attach = to.max_qp;
    to.max_total_mcast_qp_attach = to.max_qp.saturating_mul(MAX_GROUPS);
    to
}

fn port_attributes(from: &PortAttributes) -> ibv_port_attr {
    let mut to = ibv_port_attr::zero();
    copy!(from => to: state, max_mtu, active_mtu, port_cap_flags, max_msg_sz, pkey_tbl_len, lid);
    copy!(from => to: active_width, active_speed, phys_state, link_layer, flags);
    copy!(from => to by limit: gid_tbl_len);
    to.max_vl_num = 1;
    to
}
