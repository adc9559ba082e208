//! The network devices of this machine: their ports and addresses.

use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;

use dat_provider_kit::network::Interface;

use crate::sysfs::port_folder;

/// The names of the network devices that share a port: those of its GIDs, those of the same
/// hardware, or, on iWARP, the one with its hardware address.
pub(crate) fn of_port(device: &str, port: u8, network: &[Interface]) -> Vec<String> {
    /// Number of entries of the GID table that are read.
    const LOOKED_AT: u32 = 64;
    let folder = port_folder(device, port);
    let devices = folder.join("gid_attrs/ndevs");
    let mut names: Vec<String> = (0..LOOKED_AT)
        .filter_map(|index| std::fs::read_to_string(devices.join(index.to_string())).ok())
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    let same_hardware = network.iter().filter(|interface| {
        let class = Path::new("/sys/class/net").join(&interface.name);
        let number = std::fs::read_to_string(class.join("dev_port")).unwrap_or_default();
        class.join("device/infiniband").join(device).exists()
            && number.trim().parse::<u8>().is_ok_and(|number| number + 1 == port)
    });
    names.extend(same_hardware.map(|interface| interface.name.clone()));
    if names.is_empty() {
        let first_gid = std::fs::read_to_string(folder.join("gids/0")).ok();
        let hardware = first_gid.and_then(|gid| hardware_address(&gid));
        let has_it = |interface: &&Interface| {
            let place = Path::new("/sys/class/net").join(&interface.name).join("address");
            std::fs::read_to_string(place).is_ok_and(|own| Some(own.trim()) == hardware.as_deref())
        };
        names.extend(network.iter().filter(has_it).map(|interface| interface.name.clone()));
    }
    names.sort();
    names.dedup();
    names
}

/// The network devices that have the addresses in GIDs of RoCE, in the order of the GIDs.
pub(crate) fn of_gids(gids: &[String], network: &[Interface]) -> Vec<Interface> {
    let mut found: Vec<Interface> = Vec::new();
    for gid in gids.iter().filter_map(|gid| gid.parse::<Ipv6Addr>().ok()) {
        let ip = IpAddr::from(gid).to_canonical();
        let has_it = |one: &&Interface| one.addresses.iter().any(|address| address.ip() == ip);
        if let Some(one) = network.iter().find(has_it) {
            if !found.iter().any(|other| other.name == one.name) {
                found.push(one.clone());
            }
        }
    }
    found
}

/// The Ethernet address that the GID of an iWARP port contains, followed by zeros: the connection
/// manager uses it to find the port of an address. Newer kernels also name the network device.
fn hardware_address(gid: &str) -> Option<String> {
    let bytes = gid.trim().parse::<Ipv6Addr>().ok()?.octets();
    let (address, rest) = bytes.split_at(6);
    let is_one = rest.iter().all(|byte| *byte == 0) && address.iter().any(|byte| *byte != 0);
    let words: Vec<String> = address.iter().map(|byte| format!("{byte:02x}")).collect();
    is_one.then(|| words.join(":"))
}

#[cfg(test)]
mod tests {
    use dat_provider_kit::network::interfaces;

    use super::*;

    #[test]
    fn an_iwarp_gid_contains_the_ethernet_address() {
        let of = |gid| hardware_address(gid);
        let address = of("a649:5c9a:07b4:0000:0000:0000:0000:0000\n");
        assert_eq!(address.as_deref(), Some("a6:49:5c:9a:07:b4"));
        assert_eq!(of("0000:0000:0000:0000:0000:0000:0000:0000"), None);
        assert_eq!(of("0000:0000:0000:0000:0000:ffff:0a4d:0001"), None, "RoCE");
        assert_eq!(of("fe80:0000:0000:0000:0002:c903:0029:7de1"), None, "InfiniBand");
        assert_eq!(of(""), None);
    }

    #[test]
    fn the_gids_of_roce_contain_the_addresses_of_interfaces() {
        let network = interfaces();
        let loopback = "0000:0000:0000:0000:0000:ffff:7f00:0001".to_owned();
        let unknown = "0000:0000:0000:0000:0000:ffff:c000:0201".to_owned();
        let found = of_gids(&[unknown, loopback.clone(), loopback], &network);
        let names: Vec<_> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["lo"]);
    }

    #[test]
    fn an_absent_device_has_no_interfaces() {
        assert_eq!(of_port("no-such-device", 1, &interfaces()), Vec::<String>::new());
    }
}
