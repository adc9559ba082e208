//! Queue pairs of type UD.
//!
//! Each has a UDP port, which is in its number with the index 1, so a peer needs its number, its GID and its key. The
//! engine checks the key of what arrives.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dat_provider::flags::CompletionFlags;
use dat_provider::verbs::DatagramBinding;
use dat_provider::{Adapter, Epoch, QueuePairSpec, Request, Segment, Work};

use super::{QueuePair, QueuePairType};
use crate::address_handle::address_of;
use crate::error::{Error, Result};
use crate::request::{Destination, SendOperation, SendRequest};

/// The index in the number of a queue pair for datagrams. Those of connections are greater.
pub(crate) const INDEX: u32 = 1;

/// The key that denotes the key of the sending queue pair.
const OWN_KEY: u32 = 1 << 31;

/// The number of the queue pair that receives at a UDP port.
pub(crate) const fn number_of_port(port: u16) -> u32 {
    (port as u32) << 8 | INDEX
}

/// Creates a queue pair of the engine at a free port. Returns its number, too, which is the tag of its completions.
pub(super) fn create(
    adapter: &dyn Adapter,
    spec: impl Fn(u32, Option<DatagramBinding>) -> QueuePairSpec,
) -> Result<(Box<dyn dat_provider::QueuePair>, u32)> {
    let kit = adapter.create_queue_pair(spec(0, Some(DatagramBinding::default())))?;
    let Some(port) = kit.for_verbs().datagram_port() else {
        return Err(Error::unsupported(
            "cannot create a queue pair of type UD: the engine gives it no port",
        ));
    };
    let number = number_of_port(port);
    kit.modify(spec(number, Some(DatagramBinding { port, key: 0 })))?;
    Ok((kit, number))
}

impl QueuePair {
    /// Passes a datagram to the engine.
    pub(super) fn post_datagram(
        &self,
        request: &SendRequest<'_>,
        segments: &[Segment],
        flags: CompletionFlags,
    ) -> Result<()> {
        let Some(Destination { address, number, key }) = request.destination else {
            return Err(Error::plain(libc::EINVAL, "a datagram has no destination"));
        };
        let work = match request.operation {
            SendOperation::SendWithImmediate(data) => {
                Work::SendImmediate { immediate: u32::from_be(data) }
            }
            _ => Work::Send,
        };
        let key = if key & OWN_KEY == 0 { key } else { self.control.lock().attributes.qkey };
        let to = address.remote(self.domain.context().engine, number, key)?;
        let length = segments.iter().map(|one| one.length).sum();
        // Nothing precedes it that it could wait for.
        let flags = flags - CompletionFlags::BARRIER_FENCE;
        let (cookie, checked) = (request.wr_id, Epoch::default());
        let request = Request { work, segments, length, cookie, flags, checked };
        self.kit.post_datagram(&to, &request).map_err(Error::from)
    }

    /// Receives also what is sent to a multicast group (ibv_attach_mcast(3)).
    ///
    /// # Errors
    /// `EINVAL` for a queue pair of another type, or a GID that is none of a group; what the system refuses.
    pub fn attach_multicast(&self, group: &[u8; 16]) -> Result<()> {
        let (group, at) = self.group(group)?;
        self.kit.for_verbs().join_group(group, at).map_err(Error::from)
    }

    /// Reverts [`attach_multicast`](Self::attach_multicast) (ibv_detach_mcast(3)).
    ///
    /// # Errors
    /// `EINVAL` also if it is not a member.
    pub fn detach_multicast(&self, group: &[u8; 16]) -> Result<()> {
        let (group, at) = self.group(group)?;
        self.kit.for_verbs().leave_group(group, at).map_err(Error::from)
    }

    /// The address of a group, and the unspecified one of the same family, which denotes every interface.
    fn group(&self, gid: &[u8; 16]) -> Result<(IpAddr, IpAddr)> {
        let group = address_of(gid);
        if self.kind() != QueuePairType::Ud || !group.is_multicast() {
            return Err(Error::invalid(format!(
                "cannot attach a queue pair of type {:?} to {group}: only queue pairs of type UD receive from groups",
                self.kind()
            )));
        }
        let everywhere = match group {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        Ok((group, everywhere))
    }

    /// The program has set the key, if the queue pair has one.
    pub(super) fn apply_key(&self, key: u32) -> Result<()> {
        if self.kind() != QueuePairType::Ud {
            return Ok(());
        }
        self.kit.for_verbs().set_datagram_key(key.into()).map_err(Error::from)
    }
}
