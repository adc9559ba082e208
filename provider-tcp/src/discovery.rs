//! The adapters of this machine: its network interfaces.

use std::net::IpAddr;

use dat_provider::DiscoveredAdapter;
use dat_provider::attr::NamedAttr;
use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider_kit::engine::MAX_DATAGRAM;
use dat_provider_kit::network::{Interface, try_interfaces};

/// The prefix of adapter names; the interface follows.
const PREFIX: &str = "tcp-";

/// The interface that the name of an adapter denotes.
pub(crate) fn interface_of(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX).filter(|interface| !interface.is_empty())
}

/// Returns true if the machine may have an interface: it has, or the system does not say now.
pub(crate) fn is_there(interface: &str) -> bool {
    try_interfaces().map_or(true, |all| all.iter().any(|one| one.name == interface))
}

/// Every interface that is up and has an address. If the system does not list them, the adapter that every
/// machine has says why.
pub(crate) fn adapters() -> Vec<DiscoveredAdapter> {
    let all = match all() {
        Ok(all) => all,
        Err(error) => {
            let summary = "TCP on lo".to_owned();
            return vec![DiscoveredAdapter {
                name: format!("{PREFIX}lo"),
                summary,
                unusable: Some(error),
            }];
        }
    };
    let usable = all.into_iter().filter(|interface| interface.is_up);
    usable
        .filter_map(|Interface { name, addresses, .. }| {
            let interface = Interface { name: name.clone(), is_up: true, addresses };
            let address = interface.routable()?;
            let summary = format!("TCP on {name}, address {address}");
            Some(DiscoveredAdapter { name: format!("{PREFIX}{name}"), summary, unusable: None })
        })
        .collect()
}

/// All interfaces.
fn all() -> Result<Vec<Interface>> {
    try_interfaces().map_err(|error| {
        Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice)
            .because("cannot list the network interfaces")
            .errno(error.raw_os_error().unwrap_or(0))
            .advise("if the process is out of descriptors, raise the limit (ulimit -n)")
    })
}

/// The attributes that programs with the InfiniBand extensions look for: the name of the device, and
/// the longest packet in bytes. Both are those of the interface, but programs send datagrams as long as
/// the packet.
pub(crate) fn named_attributes(interface: Option<&str>) -> Vec<NamedAttr> {
    let Some(interface) = interface else { return Vec::new() };
    let mut named = vec![NamedAttr::new("DAT_IB_DEVICE_NAME", interface)];
    if let Ok(mtu) = std::fs::read_to_string(format!("/sys/class/net/{interface}/mtu")) {
        let longest = mtu.trim().parse().map_or(MAX_DATAGRAM, |mtu: usize| mtu.min(MAX_DATAGRAM));
        named.push(NamedAttr::new("DAT_IB_TRANSPORT_MTU", longest.to_string()));
    }
    named
}

/// The address of an interface.
pub(crate) fn address_of(interface: &str) -> Result<IpAddr> {
    let all = all()?;
    let Some(found) = all.iter().find(|one| one.name == interface) else {
        return Err(Error::new(ReturnType::ProviderNotFound, Subtype::NoSubtype)
            .because(format!("there is no network interface {interface}"))
            .advise("`dat list` shows the adapters of this machine"));
    };
    let resource = Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice);
    if !found.is_up {
        return Err(resource
            .because(format!("the network interface {interface} is down"))
            .advise(format!("`ip link set {interface} up`")));
    }
    found.routable().ok_or_else(|| {
        resource
            .because(match found.addresses.is_empty() {
                true => format!("the network interface {interface} has no IP address"),
                false => format!(
                    "the network interface {interface} has only link-local addresses, which adapters do \
                     not use"
                ),
            })
            .advise(format!("`ip addr add ADDRESS dev {interface}`, or set address=ADDRESS"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_an_adapter() {
        let all = adapters();
        let lo = all.iter().find(|adapter| adapter.name == "tcp-lo").expect("every Linux has it");
        assert!(lo.summary.contains("127.0.0.1"), "{lo:?}");
        assert_eq!(address_of("lo").map(|address| address.is_loopback()), Ok(true));
    }

    #[test]
    fn programs_find_the_device_and_its_packets() {
        let named = named_attributes(Some("lo"));
        let value = |name: &str| named.iter().find(|one| one.name == name).map(|one| &*one.value);
        assert_eq!(value("DAT_IB_DEVICE_NAME"), Some("lo"));
        let mtu = value("DAT_IB_TRANSPORT_MTU").and_then(|text| text.parse::<usize>().ok());
        assert!(mtu.is_some_and(|mtu| (1280..=MAX_DATAGRAM).contains(&mtu)), "{named:?}");
        assert!(named_attributes(None).is_empty());
    }

    #[test]
    fn names_denote_interfaces() {
        assert_eq!(interface_of("tcp-eth0"), Some("eth0"));
        assert_eq!(interface_of("tcp-"), None);
        assert_eq!(interface_of("rxe0-1"), None);
        let error = address_of("no-such-interface").expect_err("it does not exist");
        assert_eq!(error.return_type(), ReturnType::ProviderNotFound);
    }
}
