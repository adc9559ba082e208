//! Multicast groups (rdma_join_multicast(3)).

use std::ffi::{c_int, c_void};

use rdma_verbs::sys::rdma_cma::{
    RDMA_CM_JOIN_MC_ATTR_ADDRESS, RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS, RDMA_MC_JOIN_FLAG_FULLMEMBER,
    RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, rdma_cm_join_mc_attr_ex,
};

use super::address;
use super::id::Id;
use crate::guard::{self, Result, given, invalid};

unsafe fn join(
    id: Id<'_>,
    group: *const libc::sockaddr,
    is_send_only: bool,
    context: *mut c_void,
) -> Result<()> {
    // SAFETY: the caller guarantees the address.
    let group = given(unsafe { address::from_c(group) }?, "the address of the group")?;
    let user = context.expose_provenance() as u64;
    id.core().join_multicast(group, is_send_only, user)?;
    id.outcome()
}

/// Joins a group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_join_multicast(
    id: Id<'_>,
    group: *const libc::sockaddr,
    context: *mut c_void,
) -> c_int {
    // SAFETY: as the caller guarantees.
    guard::zero(|| unsafe { join(id, group, false, context) })
}

/// Joins a group, possibly only to send.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_join_multicast_ex(
    id: Id<'_>,
    attributes: Option<&rdma_cm_join_mc_attr_ex>,
    context: *mut c_void,
) -> c_int {
    const ALL: u32 = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
    guard::zero(|| {
        let attributes = given(attributes, "the attributes of the group")?;
        if attributes.comp_mask != ALL {
            return Err(invalid(
                "cannot join a group: comp_mask must name the address and the flags",
            ));
        }
        let is_send_only = match attributes.join_flags {
            RDMA_MC_JOIN_FLAG_FULLMEMBER => false,
            RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER => true,
            flags => return Err(invalid(format!("cannot join a group with the flags {flags:#x}"))),
        };
        // SAFETY: the caller guarantees the address.
        unsafe { join(id, attributes.addr, is_send_only, context) }
    })
}

/// Leaves a group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_leave_multicast(
    id: Id<'_>,
    group: *const libc::sockaddr,
) -> c_int {
    guard::zero(|| {
        // SAFETY: the caller guarantees the address.
        let group = given(unsafe { address::from_c(group) }?, "the address of the group")?;
        Ok(id.core().leave_multicast(group)?)
    })
}
