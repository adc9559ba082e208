//! Destinations of packets.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use dat_provider::RemoteAddress;
use dat_sync::Mutex;

use crate::context::Context;
use crate::domain::Domain;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::in_use::UseCount;
use crate::port::PORT;

/// The address of a peer (`ibv_ah_attr`). Only the GIDs have a meaning here; the rest is kept and returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressVector {
    /// The GID of the destination.
    pub dgid: [u8; 16],
    /// The flow label of IPv6.
    pub flow_label: u32,
    /// The index of the GID of this side.
    pub sgid_index: u8,
    /// The hop limit.
    pub hop_limit: u8,
    /// The traffic class.
    pub traffic_class: u8,
    /// The local identifier, which RoCE does not use.
    pub dlid: u16,
    /// The service level.
    pub sl: u8,
    /// The low bits of the local identifier of this side.
    pub src_path_bits: u8,
    /// The maximum rate, as a code.
    pub static_rate: u8,
    /// True if the GIDs are valid; RoCE requires it.
    pub is_global: bool,
    /// The port of the device.
    pub port_num: u8,
}

impl AddressVector {
    /// The IP address of the destination.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        address_of(&self.dgid)
    }

    /// Checks the vector. Returns the GID of this side.
    pub(crate) fn check(&self, context: &Context) -> Result<[u8; 16]> {
        if self.port_num != PORT {
            return Err(Error::invalid(format!(
                "cannot use port {} in an address: the device has only port 1",
                self.port_num
            )));
        }
        if !self.is_global || self.dgid == [0; 16] {
            return Err(Error::invalid(
                "the address has no GID of the destination: RoCE demands one; set is_global and dgid",
            ));
        }
        let entry = context.engine.gid(self.sgid_index.into()).filter(|gid| *gid != [0; 16]);
        entry.ok_or_else(|| {
            Error::invalid(format!(
                "the device has no GID with index {}; ibv_devinfo -v lists them",
                self.sgid_index
            ))
        })
    }
}

/// The IP address of a GID.
#[must_use]
pub fn address_of(gid: &[u8; 16]) -> IpAddr {
    IpAddr::V6(Ipv6Addr::from(*gid)).to_canonical()
}

/// The GID of an IP address: of IPv4 in the mapped form.
#[must_use]
pub fn gid_of(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// The destination of datagrams (ibv_create_ah(3)).
pub struct AddressHandle {
    vector: AddressVector,
    /// The GID of this side.
    source: [u8; 16],
    /// The last queue pair there that was sent to, with its number and key.
    last: Mutex<Option<(u32, u32, RemoteAddress)>>,
    uses: UseCount,
}

impl AddressHandle {
    pub(crate) fn create(domain: &Arc<Domain>, vector: AddressVector) -> Result<Arc<Self>> {
        let source = vector.check(domain.context())?;
        let used = domain.add_use()?;
        Ok(Arc::new(Self {
            vector,
            source,
            last: Mutex::default(),
            uses: UseCount::using(vec![used]),
        }))
    }

    /// The address that it was created with.
    #[must_use]
    pub const fn vector(&self) -> &AddressVector {
        &self.vector
    }

    /// The GID of this side.
    #[must_use]
    pub const fn source(&self) -> &[u8; 16] {
        &self.source
    }

    /// A queue pair for datagrams there.
    pub(crate) fn remote(&self, engine: &Engine, number: u32, key: u32) -> Result<RemoteAddress> {
        let mut last = self.last.lock();
        if let Some((_, _, remote)) = last.as_ref().filter(|it| (it.0, it.1) == (number, key)) {
            return Ok(remote.clone());
        }
        let to = SocketAddr::new(self.vector.address(), (number >> 8) as u16);
        let from = Some(address_of(&self.source));
        let remote = engine.adapter.for_verbs().remote_address(from, to, key.into())?;
        *last = Some((number, key, remote.clone()));
        Ok(remote)
    }

    /// Destroys it (ibv_destroy_ah(3)). Datagrams that were posted before are not affected.
    ///
    /// # Errors
    /// `EINVAL` if it is destroyed already.
    pub fn destroy(&self) -> Result<()> {
        self.uses.end("the address handle is used")
    }
}

impl std::fmt::Debug for AddressHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AddressHandle({})", self.vector.address())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gid_is_an_address_and_back() {
        for text in ["192.0.2.1", "127.0.0.1", "::1", "2001:db8::7"] {
            let address: IpAddr = text.parse().expect("an address");
            assert_eq!(address_of(&gid_of(address)), address);
        }
        let mapped = gid_of(IpAddr::from([192, 0, 2, 1]));
        assert_eq!(mapped, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1]);
    }
}
