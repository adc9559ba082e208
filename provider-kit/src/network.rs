//! The network interfaces of this machine, and their addresses.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};

use crate::fork::Private;
use dat_provider::LocalCause;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name, for example `eth0`.
    pub name: String,
    /// True if it is up.
    pub is_up: bool,
    /// Its addresses; link-local addresses carry their scope.
    pub addresses: Vec<SocketAddr>,
}

impl Interface {
    /// The address to use, IPv4 before IPv6. Link-local addresses are ignored, because a peer needs its
    /// own scope for them.
    #[must_use]
    pub fn routable(&self) -> Option<IpAddr> {
        let usable = self.addresses.iter().map(SocketAddr::ip);
        usable.filter(|address| !is_link_local(*address)).min_by_key(IpAddr::is_ipv6)
    }
}

/// All network interfaces, sorted by name (getifaddrs(3)); none if the system does not list them.
#[must_use]
pub fn interfaces() -> Vec<Interface> {
    try_interfaces().unwrap_or_default()
}

/// As [`interfaces`].
///
/// # Errors
/// The system's error, for example if the process has no descriptor left.
pub fn try_interfaces() -> io::Result<Vec<Interface>> {
    let mut found: BTreeMap<String, (bool, Vec<SocketAddr>)> = BTreeMap::new();
    for entry in getifaddrs()? {
        let (is_up, addresses) = found.entry(entry.interface_name).or_default();
        *is_up |= entry.flags.contains(InterfaceFlags::IFF_UP);
        let address = entry.address.as_ref();
        let v4 = address
            .and_then(|address| address.as_sockaddr_in())
            .map(|&v4| SocketAddr::V4(v4.into()));
        let v6 = address
            .and_then(|address| address.as_sockaddr_in6())
            .map(|&v6| SocketAddr::V6(v6.into()));
        addresses.extend(v4.or(v6));
    }
    let interface = |(name, (is_up, addresses))| Interface { name, is_up, addresses };
    Ok(found.into_iter().map(interface).collect())
}

/// Returns the address from which the kernel sends to another one. Connecting a UDP socket selects it and sends
/// nothing.
///
/// # Errors
/// The system's error, for example if no route leads there.
pub fn source_towards(address: IpAddr) -> io::Result<IpAddr> {
    /// Any port but 0, to which no socket connects.
    const ANY_PORT: u16 = 9;
    source_of(SocketAddr::new(address, ANY_PORT)).map(|source| source.ip())
}

/// As [`source_towards`], with the scopes of link-local addresses. The port of `peer` must not be 0; the port of the
/// result has no meaning.
///
/// # Errors
/// The system's error, for example if no route leads there.
pub fn source_of(peer: SocketAddr) -> io::Result<SocketAddr> {
    let from: IpAddr = match peer {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = Private::create(|| UdpSocket::bind((from, 0)))?;
    socket.connect(peer)?;
    socket.local_addr()
}

/// Returns true if an address is valid on one link only.
#[must_use]
pub const fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// A socket address on a network interface: a link-local address gets its scope.
#[must_use]
pub fn on_interface(address: IpAddr, port: u16, interface: &str) -> SocketAddr {
    match address {
        IpAddr::V6(v6) if v6.is_unicast_link_local() => {
            let scope = if_nametoindex(interface).unwrap_or(0);
            SocketAddrV6::new(v6, port, 0, scope).into()
        }
        _ => SocketAddr::new(address, port),
    }
}

/// The index of the network interface that has an address; 0 if none has it.
#[must_use]
pub fn interface_of(address: Ipv6Addr) -> u32 {
    let has = |one: &Interface| one.addresses.iter().any(|own| own.ip() == address);
    let found = interfaces().into_iter().find(has);
    found.map_or(0, |one| if_nametoindex(one.name.as_str()).unwrap_or(0))
}

/// Returns true if a network interface of this machine has an address.
///
/// # Errors
/// The system does not list the interfaces, for example because no descriptor is free.
pub fn is_of_this_machine(address: IpAddr) -> Result<bool, LocalCause> {
    // The kernel sends from an address to itself, except if it is one of several of a network. Listing the
    // interfaces takes five times as long.
    if source_towards(address).is_ok_and(|source| source == address) {
        return Ok(true);
    }
    let has = |one: &Interface| one.addresses.iter().any(|own| own.ip() == address);
    let all = try_interfaces()
        .map_err(|error| LocalCause::new("list the addresses of this machine", &error))?;
    Ok(all.iter().any(has))
}

/// Maps a peer's address to the address of an adapter that does not leave the machine: an address of 127.0.0.0/8 to
/// itself, every other address of this machine to 127.0.0.1, and an address of another machine to `None`.
///
/// # Errors
/// As [`is_of_this_machine`].
pub fn within_this_machine(address: IpAddr) -> Result<Option<IpAddr>, LocalCause> {
    Ok(match address {
        IpAddr::V4(v4) if v4.is_loopback() => Some(address),
        _ => is_of_this_machine(address)?.then_some(Ipv4Addr::LOCALHOST.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(addresses: &[&str]) -> Interface {
        let addresses =
            addresses.iter().map(|text| SocketAddr::new(text.parse().expect("address"), 0));
        Interface { name: "eth0".to_owned(), is_up: true, addresses: addresses.collect() }
    }

    #[test]
    fn addresses_of_interfaces_are_of_this_machine() {
        for address in interfaces().iter().flat_map(|one| &one.addresses) {
            assert!(is_of_this_machine(address.ip()).expect("listed"), "{address}");
        }
        for other in [[192, 0, 2, 1], [8, 8, 8, 8]] {
            assert!(!is_of_this_machine(other.into()).expect("listed"), "{other:?}");
        }
    }

    #[test]
    fn every_other_address_of_the_machine_denotes_127_0_0_1() {
        let lo = IpAddr::V4(Ipv4Addr::LOCALHOST);
        for own in interfaces().iter().flat_map(|one| &one.addresses).map(SocketAddr::ip) {
            let itself = matches!(own, IpAddr::V4(v4) if v4.is_loopback());
            let found = within_this_machine(own).expect("listed");
            assert_eq!(found, Some(if itself { own } else { lo }), "{own}");
        }
        let other = IpAddr::from([127, 8, 7, 6]);
        assert_eq!(within_this_machine(other).expect("listed"), Some(other));
        assert_eq!(within_this_machine([192, 0, 2, 1].into()).expect("listed"), None);
    }

    #[test]
    fn the_loopback_device_has_its_address() {
        let all = interfaces();
        let lo = all.iter().find(|interface| interface.name == "lo").expect("every Linux has it");
        assert!(lo.addresses.iter().any(|address| address.ip().is_loopback()), "{lo:?}");
        assert!(lo.is_up);
    }

    #[test]
    fn ipv4_comes_first_and_link_local_addresses_are_ignored() {
        let address = |texts| with(texts).routable().map(|address| address.to_string());
        assert_eq!(address(&["fe80::1", "2001:db8::1", "192.0.2.1"]).as_deref(), Some("192.0.2.1"));
        assert_eq!(address(&["fe80::1", "2001:db8::1"]).as_deref(), Some("2001:db8::1"));
        assert_eq!(address(&["fe80::1", "169.254.1.2"]), None);
    }
}
