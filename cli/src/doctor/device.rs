//! RDMA devices and their ports, from `/sys/class/infiniband`.

use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use super::system::System;

const CLASS: &str = "/sys/class/infiniband";
/// The largest ports have fewer GIDs.
const MAX_GIDS: usize = 1024;

/// An RDMA device.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) name: String,
    /// The name of its node in `/dev/infiniband`, if ib_uverbs has created one.
    pub(super) uverbs: Option<String>,
    pub(super) ports: Vec<Port>,
}

/// A port of an RDMA device. Unreadable values are absent.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) number: String,
    /// `ACTIVE`, `DOWN` and so on.
    pub(super) state: Option<String>,
    /// `LinkUp`, `Polling`, `Disabled` and so on.
    pub(super) physical: Option<String>,
    /// `InfiniBand` or `Ethernet`.
    pub(super) link_layer: Option<String>,
    pub(super) rate: Option<String>,
    /// True if it is an iWARP port, whose GIDs are hardware addresses.
    pub(super) is_iwarp: bool,
    /// The GIDs that are set.
    pub(super) gids: Vec<Ipv6Addr>,
    /// Its network interfaces.
    pub(super) interfaces: Vec<String>,
}

impl Device {
    /// All devices, by name.
    pub(super) fn all(system: &System) -> Vec<Self> {
        let folder = Path::new(CLASS);
        system.names(folder).into_iter().map(|name| Self::read(system, folder, name)).collect()
    }

    fn read(system: &System, class: &Path, name: String) -> Self {
        let folder = class.join(&name);
        let ports = system.names(folder.join("ports"));
        let port = |number| Port::read(system, &folder, number);
        Self { uverbs: uverbs(system, &name), ports: ports.into_iter().map(port).collect(), name }
    }
}

/// The node of a device: its class entry names the device.
fn uverbs(system: &System, device: &str) -> Option<String> {
    let class = Path::new("/sys/class/infiniband_verbs");
    let serves = |name: &String| {
        system.text(class.join(name).join("ibdev")).is_some_and(|serves| serves == device)
    };
    system.names(class).into_iter().find(serves)
}

impl Port {
    fn read(system: &System, device: &Path, number: String) -> Self {
        let folder = device.join("ports").join(&number);
        // "4: ACTIVE"
        let word = |file| {
            let text: String = system.text(folder.join(file))?;
            let word = text.split_once(':').map_or(text.as_str(), |(_, word)| word);
            Some(word.trim().to_owned()).filter(|word| !word.is_empty())
        };
        let mut port = Self {
            state: word("state"),
            physical: word("phys_state"),
            link_layer: system.text(folder.join("link_layer")).filter(|text| !text.is_empty()),
            rate: system.text(folder.join("rate")).filter(|text| !text.is_empty()),
            // "4: RNIC"
            is_iwarp: system.text(device.join("node_type")).is_some_and(|t| t.starts_with("4:")),
            gids: Vec::new(),
            interfaces: Vec::new(),
            number,
        };
        for index in system.names(folder.join("gids")).iter().take(MAX_GIDS) {
            let gid = system.text(folder.join("gids").join(index));
            let Some(gid) = gid.and_then(|text| text.parse::<Ipv6Addr>().ok()) else { continue };
            // A subnet prefix without an identifier is not an address of the port.
            if gid.segments()[if port.is_iwarp { 0 } else { 4 }..].iter().all(|word| *word == 0) {
                continue;
            }
            port.gids.push(gid);
            let owner = system.text(folder.join("gid_attrs/ndevs").join(index));
            port.interfaces.extend(owner.filter(|name| is_name(name)));
        }
        if port.is_iwarp && port.interfaces.is_empty() {
            port.interfaces = port.gids.iter().flat_map(|gid| of_hardware(system, gid)).collect();
        }
        if port.interfaces.is_empty() {
            port.interfaces = siblings(system, device, &port.number);
        }
        port.interfaces.sort();
        port.interfaces.dedup();
        port
    }

    /// The IPv4 addresses in the GID table, which are all addresses of the interfaces of an
    /// Ethernet port.
    pub(super) fn mapped_addresses(&self) -> impl Iterator<Item = std::net::Ipv4Addr> + '_ {
        self.gids.iter().filter_map(Ipv6Addr::to_ipv4_mapped)
    }

    pub(super) fn is_active(&self) -> bool {
        self.state.as_deref() == Some("ACTIVE")
    }

    pub(super) fn is_ethernet(&self) -> bool {
        self.link_layer.as_deref() == Some("Ethernet")
    }
}

/// The interfaces of the same hardware, or the interface of a software device.
fn siblings(system: &System, device: &Path, port: &str) -> Vec<String> {
    if let Some(parent) = system.text(device.join("parent")).filter(|name| is_name(name)) {
        return vec![parent];
    }
    let folder: PathBuf = device.join("device/net");
    let of_port = |name: &String| {
        // Numbered from 0 where ports are from 1.
        let number = |text: &str| text.parse::<u32>().ok();
        let there = system.text(folder.join(name).join("dev_port"));
        match (there.as_deref().and_then(number), number(port)) {
            (Some(there), Some(port)) => there + 1 == port,
            _ => true,
        }
    };
    system.names(&folder).into_iter().filter(of_port).collect()
}

/// The interfaces whose hardware address an iWARP GID begins with.
fn of_hardware(system: &System, gid: &Ipv6Addr) -> Vec<String> {
    let words: Vec<String> = gid.octets()[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    let address = words.join(":");
    let class = Path::new("/sys/class/net");
    let has_it = |name: &String| {
        system.text(class.join(name).join("address")).is_some_and(|own| own == address)
    };
    system.names(class).into_iter().filter(has_it).collect()
}

/// Returns true if it is a valid file name.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains('/') && text != ".."
}
