//! The network devices of this machine: which belong to a port, and their addresses.
#![allow(unsafe_code, reason = "getifaddrs gives a list of C")]

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::net::SocketAddr;
use std::path::Path;
use std::ptr::null_mut;

use crate::cm::from_c;

/// A network device that has addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) name: String,
    /// With their scope, where it matters.
    pub(crate) addresses: Vec<SocketAddr>,
}

/// Every network device, with its addresses (getifaddrs(3)).
pub(crate) fn interfaces() -> Vec<Interface> {
    let mut list = null_mut();
    // SAFETY: the place is valid.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Vec::new();
    }
    let mut found: BTreeMap<String, Vec<SocketAddr>> = BTreeMap::new();
    let mut at = list;
    while !at.is_null() {
        // SAFETY: an entry of the list, which lives until it is freed below.
        let entry = unsafe { &*at };
        // SAFETY: the name of an entry ends with a zero byte.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
        let addresses = found.entry(name).or_default();
        // SAFETY: an address of the list, or null.
        addresses.extend(unsafe { from_c(entry.ifa_addr) });
        at = entry.ifa_next;
    }
    // SAFETY: the list came from getifaddrs and is freed once.
    unsafe { libc::freeifaddrs(list) };
    found.into_iter().map(|(name, addresses)| Interface { name, addresses }).collect()
}

/// The names of the network devices that share a port: those of its GIDs, or of the same
/// hardware.
pub(crate) fn of_port(device: &str, port: u8, network: &[Interface]) -> Vec<String> {
    /// Entries of the table that are looked at.
    const LOOKED_AT: u32 = 64;
    let folder = format!("/sys/class/infiniband/{device}/ports/{port}/gid_attrs/ndevs");
    let mut names: Vec<String> = (0..LOOKED_AT)
        .filter_map(|index| std::fs::read_to_string(format!("{folder}/{index}")).ok())
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
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_has_its_address() {
        let all = interfaces();
        let lo = all.iter().find(|interface| interface.name == "lo").expect("every Linux has it");
        assert!(lo.addresses.iter().any(|address| address.ip().is_loopback()), "{lo:?}");
    }

    #[test]
    fn a_device_that_is_not_there_has_none() {
        assert_eq!(of_port("no-such-device", 1, &interfaces()), Vec::<String>::new());
    }
}
