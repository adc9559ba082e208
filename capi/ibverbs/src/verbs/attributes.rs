//! What a device and its port are (ibv_query_device(3), ibv_query_device_ex(3), ibv_query_port(3)).

use std::ffi::{c_int, c_void};

use dat_soft_verbs::{DeviceAttributes, PortAttributes};
use libc::size_t;
use rdma_verbs::sys::device_ex::{IBV_ODP_SUPPORT, ibv_device_attr_ex};
use rdma_verbs::sys::verbs::{ibv_context, ibv_device_attr, ibv_port_attr};

use super::{context, device};
use crate::guard::{self, INVALID};
use crate::object::Zero;

/// The size of `ibv_port_attr` before its last field: what the function of the library, unlike the header's, fills.
const OLD_PORT_SIZE: usize = std::mem::offset_of!(ibv_port_attr, port_cap_flags2);

/// Number of multicast groups: those that the socket of a queue pair may join (igmp_max_memberships).
const MAX_GROUPS: c_int = 20;

/// The attributes of a device: 0 or an errno.
///
/// # Safety
/// The context must be open, and the structure there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_query_device(
    context: *mut ibv_context,
    attributes: *mut ibv_device_attr,
) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees an open context.
        let from = unsafe { context::core(context) }.attributes();
        // SAFETY: the caller guarantees the structure.
        unsafe { attributes.write(device_attributes(&from)) };
        Ok(())
    })
}

/// The attributes of a port, without the field that was added last: 0 or an errno.
///
/// # Safety
/// The context must be open, and the structure there.
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
        let known = size.min(size_of::<ibv_port_attr>());
        // SAFETY: the caller guarantees this number of bytes.
        unsafe { attributes.cast::<u8>().write_bytes(0, size) };
        // SAFETY: as above, and the source has them.
        unsafe {
            attributes.cast::<u8>().copy_from_nonoverlapping((&raw const from).cast(), known)
        };
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
            return Err(INVALID);
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
        let known = size.min(size_of::<ibv_device_attr_ex>());
        // SAFETY: the caller guarantees this number of bytes.
        unsafe { attributes.cast::<u8>().write_bytes(0, size) };
        // SAFETY: as above, and the source has them.
        unsafe {
            attributes.cast::<u8>().copy_from_nonoverlapping((&raw const extended).cast(), known)
        };
        Ok(())
    })
}

/// A limit as C has it.
fn limit(value: u32) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

fn device_attributes(from: &DeviceAttributes) -> ibv_device_attr {
    let mut to = ibv_device_attr::zero();
    device::write(&mut to.fw_ver, &from.firmware_version);
    to.node_guid = u64::from_ne_bytes(from.node_guid);
    to.sys_image_guid = to.node_guid;
    to.max_mr_size = from.max_mr_size;
    to.page_size_cap = from.page_size_cap;
    to.vendor_id = from.vendor_id;
    to.vendor_part_id = from.vendor_part_id;
    to.max_qp = limit(from.max_qp);
    to.max_qp_wr = limit(from.max_qp_wr);
    to.device_cap_flags = from.device_cap_flags;
    to.max_sge = limit(from.max_sge);
    to.max_sge_rd = limit(from.max_sge);
    to.max_cq = limit(from.max_cq);
    to.max_cqe = limit(from.max_cqe);
    to.max_mr = limit(from.max_mr);
    to.max_pd = limit(from.max_pd);
    to.max_qp_rd_atom = limit(from.max_qp_rd_atom);
    to.max_res_rd_atom = limit(from.max_res_rd_atom);
    to.max_qp_init_rd_atom = limit(from.max_qp_init_rd_atom);
    to.atomic_cap = from.atomic_cap;
    to.max_mw = limit(from.max_mw);
    to.max_mcast_grp = MAX_GROUPS;
    to.max_mcast_qp_attach = to.max_qp;
    to.max_total_mcast_qp_attach = to.max_qp.saturating_mul(MAX_GROUPS);
    to.max_ah = limit(from.max_ah);
    to.max_srq = limit(from.max_srq);
    to.max_srq_wr = limit(from.max_srq_wr);
    to.max_srq_sge = limit(from.max_srq_sge);
    to.max_pkeys = from.max_pkeys;
    to.phys_port_cnt = from.phys_port_cnt;
    to
}

fn port_attributes(from: &PortAttributes) -> ibv_port_attr {
    let mut to = ibv_port_attr::zero();
    to.state = from.state;
    to.max_mtu = from.max_mtu;
    to.active_mtu = from.active_mtu;
    to.gid_tbl_len = limit(from.gid_tbl_len);
    to.port_cap_flags = from.port_cap_flags;
    to.max_msg_sz = from.max_msg_sz;
    to.pkey_tbl_len = from.pkey_tbl_len;
    to.lid = from.lid;
    to.max_vl_num = 1;
    to.active_width = from.active_width;
    to.active_speed = from.active_speed;
    to.phys_state = from.phys_state;
    to.link_layer = from.link_layer;
    to.flags = from.flags;
    to
}
