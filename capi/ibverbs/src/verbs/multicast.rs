//! Multicast groups (ibv_attach_mcast(3)). Local identifiers have no meaning on RoCE.

use std::ffi::c_int;

use rdma_verbs::sys::verbs::{ibv_gid, ibv_qp};

use super::queue_pair;
use crate::guard;

/// Attaches a queue pair to a group by its GID: 0 or an errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_attach_mcast(qp: *mut ibv_qp, group: &ibv_gid, _lid: u16) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees a live queue pair.
        Ok(unsafe { queue_pair::core(qp) }.attach_multicast(&group.raw)?)
    })
}

/// Detaches a queue pair from a group: 0 or an errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_detach_mcast(qp: *mut ibv_qp, group: &ibv_gid, _lid: u16) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees a live queue pair.
        Ok(unsafe { queue_pair::core(qp) }.detach_multicast(&group.raw)?)
    })
}
