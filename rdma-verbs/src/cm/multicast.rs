//! Multicast groups.

use std::net::SocketAddr;

use super::CmId;
use super::address::CAddress;
use crate::Result;
use crate::sys::rdma_cma::{self as sys, rdma_cm_join_mc_attr_ex};
use crate::verbs::{key_to_pointer, library};

/// The membership in a multicast group (rdma_join_multicast_ex(3)).
///
/// ```
/// use rdma_verbs::cm::{CmId, Membership};
///
/// fn join(id: &CmId) -> rdma_verbs::Result<()> {
///     let group = "239.1.2.3:0".parse().expect("an address");
///     id.join_multicast(group, Membership::Full, 1) // the event of the join has the key 1
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Membership {
    /// To send to the group and to receive from it.
    #[default]
    Full,
    /// Only to send to the group.
    SendOnly,
}

impl CmId {
    /// Joins a multicast group, and attaches the queue pair of the identifier to it
    /// (rdma_join_multicast(3)). The event of the join contains `key` and the address to send to.
    ///
    /// # Errors
    /// `EINVAL`: the identifier is not bound to a device, or not for datagrams; `EADDRINUSE`: it is
    /// a member of the group already.
    pub fn join_multicast(
        &self,
        group: SocketAddr,
        membership: Membership,
        key: u64,
    ) -> Result<()> {
        const CALL: &str = "rdma_join_multicast";
        self.check_bound(CALL)?;
        let mut made = self.inner.made.lock();
        if made.groups.contains(&group) {
            return Err(self.refused(CALL, libc::EADDRINUSE));
        }
        made.groups.push(group);
        drop(made);
        let mut address = CAddress::new(group);
        let mut attributes = rdma_cm_join_mc_attr_ex {
            comp_mask: sys::RDMA_CM_JOIN_MC_ATTR_ADDRESS | sys::RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
            join_flags: match membership {
                Membership::Full => sys::RDMA_MC_JOIN_FLAG_FULLMEMBER,
                Membership::SendOnly => sys::RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
            },
            addr: address.as_ptr(),
        };
        let operation = self.operation();
        // SAFETY: the identifier is alive, and the attributes are valid over the call.
        let code = unsafe {
            let call = library!(cm).rdma_join_multicast_ex;
            call(self.raw(), &raw mut attributes, key_to_pointer(key))
        };
        let joined = self.check(CALL, code);
        drop(operation);
        if joined.is_err() {
            self.forget(group);
        }
        joined
    }

    /// Leaves a multicast group (rdma_leave_multicast(3)), as dropping the identifier does.
    ///
    /// # Errors
    /// `EADDRNOTAVAIL`: it is not a member.
    pub fn leave_multicast(&self, group: SocketAddr) -> Result<()> {
        const CALL: &str = "rdma_leave_multicast";
        if !self.forget(group) {
            return Err(self.refused(CALL, libc::EADDRNOTAVAIL));
        }
        let mut address = CAddress::new(group);
        let _operation = self.operation();
        // SAFETY: the identifier is alive and the address valid over the call.
        let code = unsafe { (library!(cm).rdma_leave_multicast)(self.raw(), address.as_ptr()) };
        self.check(CALL, code)
    }

    /// Removes the group from those of the identifier; returns whether it was one.
    fn forget(&self, group: SocketAddr) -> bool {
        let groups = &mut self.inner.made.lock().groups;
        let index = groups.iter().position(|known| *known == group);
        index.map(|index| groups.swap_remove(index)).is_some()
    }
}
