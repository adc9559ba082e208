//! Which addresses are of this machine, and the names of sockets.
//!
//! Sockets have abstract names, which end with their last descriptor. With a folder, listeners are
//! files in it instead, for containers that share no network namespace.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use dat_provider_kit::network::interfaces;
use rustix::io::Result;
use rustix::net::SocketAddrUnix;

/// What the names of listeners begin with; the number is the version of the greeting.
const PREFIX: &str = "dat-shm.1";

/// The address of this machine by which a peer's adapter is found; nothing for other machines.
pub(crate) fn here(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(v4) if v4.is_loopback() => Some(v4),
        other => {
            let mut own = interfaces().into_iter().flat_map(|one| one.addresses);
            own.any(|one| one.ip() == other).then_some(Ipv4Addr::LOCALHOST)
        }
    }
}

/// The file of a listener in a folder.
pub(crate) fn file(folder: &Path, address: Ipv4Addr, qualifier: u64) -> PathBuf {
    folder.join(format!("{PREFIX}-{:x}-{qualifier:x}", u32::from(address)))
}

/// The name of a listener.
pub(crate) fn listener(
    folder: Option<&Path>,
    address: Ipv4Addr,
    qualifier: u64,
) -> Result<SocketAddrUnix> {
    match folder {
        Some(folder) => SocketAddrUnix::new(file(folder, address, qualifier)),
        None => {
            let name = format!("{PREFIX}/{:x}/{qualifier:x}", u32::from(address));
            SocketAddrUnix::new_abstract_name(name.as_bytes())
        }
    }
}

/// The name of an active side, by which the passive side knows its address.
pub(crate) fn dialler(address: Ipv4Addr, port: u64) -> Result<SocketAddrUnix> {
    let name = format!("{PREFIX}/{:x}/from/{port:x}", u32::from(address));
    SocketAddrUnix::new_abstract_name(name.as_bytes())
}

/// The address in the name of an active side.
pub(crate) fn of_dialler(name: &SocketAddrUnix) -> Option<Ipv4Addr> {
    let name = std::str::from_utf8(name.abstract_name()?).ok()?;
    let (address, _) = name.strip_prefix(PREFIX)?.strip_prefix('/')?.split_once("/from/")?;
    let address = Ipv4Addr::from(u32::from_str_radix(address, 16).ok()?);
    address.is_loopback().then_some(address)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_reached() {
        let other = Ipv4Addr::new(127, 8, 7, 6);
        assert_eq!(here(other.into()), Some(other));
        assert_eq!(here([192, 0, 2, 1].into()), None);
    }

    #[test]
    fn the_name_of_an_active_side_has_its_address() {
        let address = Ipv4Addr::new(127, 0, 0, 9);
        let name = dialler(address, u64::MAX).expect("short enough");
        assert_eq!(of_dialler(&name), Some(address));
        let outside = dialler(Ipv4Addr::new(192, 0, 2, 1), 1).expect("short enough");
        assert_eq!(of_dialler(&outside), None);
        let listener = listener(None, address, u64::MAX).expect("short enough");
        assert_eq!(of_dialler(&listener), None);
    }
}
