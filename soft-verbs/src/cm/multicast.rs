//! Multicast groups.

use std::net::SocketAddr;
use std::sync::Arc;

use super::Identifier;
use super::connect::UDP_QUEUE_KEY;
use super::event::{DatagramParameters, EventKind, Parameters};
use super::identifier::Inner;
use super::state::State;
use crate::address_handle::gid_of;
use crate::error::{Error, Result};

/// The number that denotes the queue pairs of all members.
const ALL_MEMBERS: u32 = 0xff_ffff;

/// A group of which an identifier is a member.
#[derive(Clone, Debug)]
pub(super) struct Membership {
    gid: [u8; 16],
    user: u64,
    /// It sends only.
    is_send_only: bool,
    is_attached: bool,
}

impl Identifier {
    /// Joins a multicast group (rdma_join_multicast(3), rdma_join_multicast_ex(3)). The outcome is an event with `user`;
    /// a queue pair of the identifier is attached when the program takes it. A member that sends only receives nothing.
    ///
    /// # Errors
    /// `EINVAL` if the identifier is not bound to the device, does not carry datagrams, or if the address is none of a
    /// group; `EADDRINUSE` if it is a member already.
    pub fn join_multicast(
        self: &Arc<Self>,
        group: SocketAddr,
        is_send_only: bool,
        user: u64,
    ) -> Result<()> {
        let mut inner = self.inner.lock();
        let is_bound = !matches!(inner.state, State::Idle | State::Destroyed)
            && inner.local.is_some_and(|local| !local.ip().is_unspecified());
        if !is_bound || !self.is_datagram() {
            return Err(inner.refusal("join a multicast group"));
        }
        if !group.ip().is_multicast() {
            return Err(Error::invalid(format!(
                "cannot join {group}: it is not a multicast group"
            )));
        }
        let gid = gid_of(group.ip());
        if inner.groups.iter().any(|member| member.gid == gid) {
            return Err(Error::new(
                libc::EADDRINUSE,
                format!("cannot join {group}: the identifier is a member"),
            ));
        }
        inner.groups.push(Membership { gid, user, is_send_only, is_attached: false });
        let parameters = DatagramParameters {
            private_data: Vec::new(),
            gid,
            number: ALL_MEMBERS,
            key: UDP_QUEUE_KEY,
            user,
        };
        self.report(&inner, EventKind::MulticastJoin, 0, Parameters::Datagram(parameters));
        Ok(())
    }

    /// Leaves a multicast group (rdma_leave_multicast(3)).
    ///
    /// # Errors
    /// `EADDRNOTAVAIL` if it is not a member.
    pub fn leave_multicast(&self, group: SocketAddr) -> Result<()> {
        let mut inner = self.inner.lock();
        let gid = gid_of(group.ip());
        let Some(at) = inner.groups.iter().position(|member| member.gid == gid) else {
            let text = format!("cannot leave {group}: the identifier is not a member");
            return Err(Error::new(libc::EADDRNOTAVAIL, text));
        };
        let member = inner.groups.remove(at);
        inner.detach_group(&member)
    }
}

impl Inner {
    /// Attaches the queue pair to a group that was joined; `None` if the program has left it.
    pub(super) fn attach_group(&mut self, parameters: &Parameters) -> Option<(EventKind, i32)> {
        let Parameters::Datagram(DatagramParameters { gid, user, .. }) = parameters else {
            return None;
        };
        let is_it = |member: &&mut Membership| member.gid == *gid && member.user == *user;
        let member = self.groups.iter_mut().find(is_it)?;
        let Some(queue_pair) = self.queue_pair.as_ref().filter(|_| !member.is_send_only) else {
            return Some((EventKind::MulticastJoin, 0));
        };
        Some(match queue_pair.attach_multicast(gid) {
            Ok(()) => {
                member.is_attached = true;
                (EventKind::MulticastJoin, 0)
            }
            Err(error) => (EventKind::MulticastError, -error.errno),
        })
    }

    fn detach_group(&self, member: &Membership) -> Result<()> {
        match &self.queue_pair {
            Some(queue_pair) if member.is_attached => queue_pair.detach_multicast(&member.gid),
            _ => Ok(()),
        }
    }

    /// Leaves all groups, before the identifier is destroyed.
    pub(super) fn leave_all_groups(&mut self) {
        for member in std::mem::take(&mut self.groups) {
            // The queue pair may be destroyed already, and with it what it was attached to.
            let _ = self.detach_group(&member);
        }
    }
}
