//! The addresses of this machine, and the names of sockets.
//!
//! Sockets have abstract names, which disappear with their last descriptor. With a folder, listeners are files in it
//! instead, for containers that do not share a network namespace.
//!
//! There are two [spaces](Space) of names; listeners of one cannot be found in the other.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use dat_provider::LocalCause;
use dat_provider_kit::network::within_this_machine;
use rustix::io::Result;
use rustix::net::SocketAddrUnix;

/// A space of names. Its prefix ends in the version of the greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// Adapters `shm`: each has an address of 127.0.0.0/8, and every address of the machine finds 127.0.0.1.
    Own,
    /// Adapters that also listen over TCP. Each is found by exactly its address, or by every address of the machine if
    /// it listens at the unspecified one, and only by its own user: other users must not be refused here, because they
    /// can reach it over TCP.
    BesideTcp,
}

impl Space {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Own => "dat-shm.1",
            Self::BesideTcp => "dat-shm-tcp.1",
        }
    }

    /// Maps a peer's address to the address of its adapter; `None` for another machine.
    ///
    /// # Errors
    /// The system does not list the addresses of this machine.
    pub(crate) fn here(self, address: IpAddr) -> std::result::Result<Option<IpAddr>, LocalCause> {
        let found = within_this_machine(address)?;
        Ok(found.map(|found| match self {
            Self::Own => found,
            Self::BesideTcp => address,
        }))
    }

    /// The addresses in the names of the listeners to try, for an adapter's address.
    pub(crate) fn listening_at(self, found: IpAddr) -> impl Iterator<Item = IpAddr> {
        let everywhere = match self {
            Self::Own => None,
            Self::BesideTcp => Some(Ipv4Addr::UNSPECIFIED.into()),
        };
        everywhere.into_iter().chain([found])
    }

    /// The path of a listener's socket in a folder.
    pub(crate) fn file(self, folder: &Path, address: IpAddr, qualifier: u64) -> PathBuf {
        folder.join(format!("{}-{}-{qualifier:x}", self.prefix(), text(address)))
    }

    /// The name of a listener.
    pub(crate) fn listener(
        self,
        folder: Option<&Path>,
        address: IpAddr,
        qualifier: u64,
    ) -> Result<SocketAddrUnix> {
        match folder {
            Some(folder) => SocketAddrUnix::new(self.file(folder, address, qualifier)),
            None => {
                let user = match self {
                    Self::Own => String::new(),
                    Self::BesideTcp => format!("/{}", rustix::process::geteuid().as_raw()),
                };
                let name = format!("{}/{}/{qualifier:x}{user}", self.prefix(), text(address));
                SocketAddrUnix::new_abstract_name(name.as_bytes())
            }
        }
    }

    /// The name of an active side, from which the passive side learns its address.
    pub(crate) fn dialler(self, address: IpAddr, port: u64) -> Result<SocketAddrUnix> {
        let name = format!("{}/{}/from/{port:x}", self.prefix(), text(address));
        SocketAddrUnix::new_abstract_name(name.as_bytes())
    }

    /// The address in the name of an active side.
    pub(crate) fn of_dialler(self, name: &SocketAddrUnix) -> Option<IpAddr> {
        let name = std::str::from_utf8(name.abstract_name()?).ok()?;
        let (address, _) =
            name.strip_prefix(self.prefix())?.strip_prefix('/')?.split_once("/from/")?;
        let address = match u32::from_str_radix(address, 16) {
            Ok(v4) => Ipv4Addr::from(v4).into(),
            Err(_) => IpAddr::V6(address.parse().ok()?),
        };
        self.here(address).ok()?.filter(|found| *found == address)
    }
}

/// Formats an address for a name. Every IPv6 address has a colon.
fn text(address: IpAddr) -> String {
    match address {
        IpAddr::V4(v4) => format!("{:x}", u32::from(v4)),
        IpAddr::V6(v6) => v6.to_string(),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_reached() {
        let other = IpAddr::from([127, 8, 7, 6]);
        for space in [Space::Own, Space::BesideTcp] {
            assert_eq!(space.here(other).expect("listed"), Some(other));
            assert_eq!(space.here([192, 0, 2, 1].into()).expect("listed"), None);
        }
    }

    #[test]
    fn the_name_of_an_active_side_has_its_address() {
        for space in [Space::Own, Space::BesideTcp] {
            let of = |address: IpAddr| {
                space.of_dialler(&space.dialler(address, u64::MAX).expect("short enough"))
            };
            let address = IpAddr::from([127, 0, 0, 9]);
            assert_eq!(of(address), Some(address));
            assert_eq!(of([192, 0, 2, 1].into()), None);
            assert_eq!(of("2001:db8::1".parse().expect("an address")), None);
            let listener = space.listener(None, address, u64::MAX).expect("short enough");
            assert_eq!(space.of_dialler(&listener), None);
        }
        let of_other = Space::Own.dialler([127, 0, 0, 9].into(), 1).expect("short enough");
        assert_eq!(Space::BesideTcp.of_dialler(&of_other), None);
    }
}
