//! The network interface that leads to other machines.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dat_provider_kit::network::{interfaces, source_towards};

/// The interface that every machine has.
const LOOPBACK: &str = "lo";

/// The interface of the default route, or the loopback interface of a machine without one; and the
/// address that an adapter has there, if any.
pub(crate) fn default() -> (String, Option<IpAddr>) {
    let all = interfaces();
    let holder = |address: IpAddr| {
        all.iter().find(|one| one.addresses.iter().any(|own| own.ip() == address))
    };
    let found = routed().and_then(holder);
    let found = found.or_else(|| all.iter().find(|one| one.name == LOOPBACK));
    found.map_or_else(
        || (LOOPBACK.to_owned(), None),
        |interface| (interface.name.clone(), interface.routable()),
    )
}

/// The address from which the kernel sends to other networks. The destinations are reserved for documentation.
fn routed() -> Option<IpAddr> {
    const DESTINATIONS: [IpAddr; 2] = [
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
    ];
    DESTINATIONS.into_iter().find_map(|destination| source_towards(destination).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_an_interface_of_this_machine_and_has_an_address() {
        let (name, address) = default();
        assert!(interfaces().iter().any(|one| one.name == name), "{name}");
        assert!(address.is_some(), "{name}");
    }
}
