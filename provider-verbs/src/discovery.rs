//! The ports of the RDMA devices of this machine.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider_kit::network::{Interface, interfaces};
use dat_sync::Lazy;

use crate::device_node::obstacle;
use crate::errors::{internal, not_loaded};
use crate::network;
use crate::provider::no_such;
use crate::sys;
use crate::sysfs::{DEVICES, port_folder};
use crate::verbs::{self, Context, Error as Failure, LinkLayer, PortState};

/// A port, with what can be learned by opening its device briefly.
pub(crate) struct Port {
    pub(crate) device: String,
    pub(crate) number: u8,
    /// The device, while it is open.
    pub(crate) context: Option<Context>,
    state: std::result::Result<State, Failure>,
    /// The network devices that share the port, and their addresses.
    pub(crate) interfaces: Vec<Interface>,
    gid: Option<String>,
}

struct State {
    is_active: bool,
    is_up: &'static str,
    link_layer: &'static str,
    speed: String,
}

/// Returns true if there is a device with that name.
pub(crate) fn is_there(device: &str) -> bool {
    let is_of_kernel = std::fs::read_dir(DEVICES)
        .is_ok_and(|devices| devices.flatten().any(|entry| entry.file_name() == device));
    is_of_kernel || (has_own_library() && is_of_library(device))
}

fn is_of_library(device: &str) -> bool {
    sys::libraries().is_ok()
        && verbs::devices().is_ok_and(|all| all.iter().any(|one| one.name == device))
}

/// Returns true if there may be a device: the kernel has one, or the library does not come from the system.
pub(crate) fn has_devices() -> bool {
    std::fs::read_dir(DEVICES).is_ok_and(|mut devices| devices.next().is_some())
        || has_own_library()
}

/// Returns true if the loader finds a libibverbs of the user before the one of the system. It may have devices that the
/// kernel does not know, such as the device of soft-verbs.
fn has_own_library() -> bool {
    static HAS_ONE: Lazy<bool> = Lazy::new(|| {
        let paths = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        is_library_in(&paths)
    });
    *HAS_ONE
}

/// Returns true if one of these folders has a libibverbs (ld.so(8) separates them by colons or semicolons).
fn is_library_in(paths: &OsStr) -> bool {
    let mut folders = paths.as_encoded_bytes().split(|byte| matches!(byte, b':' | b';'));
    folders.any(|folder| {
        !folder.is_empty() && Path::new(OsStr::from_bytes(folder)).join("libibverbs.so.1").exists()
    })
}

/// Every port of every device, in the order of libibverbs.
pub(crate) fn ports() -> Vec<Port> {
    ports_of(|_| true)
}

/// Every port of the devices whose names are wanted; other devices are not opened.
pub(crate) fn ports_of(is_wanted: impl Fn(&str) -> bool) -> Vec<Port> {
    let Ok(devices) = verbs::devices() else { return Vec::new() };
    let network = interfaces();
    let mut ports = Vec::new();
    for device in devices.into_iter().filter(|device| is_wanted(&device.name)) {
        let opened = device.open().and_then(|context| Ok((context.query()?, context)));
        match opened {
            Ok((limits, context)) => {
                for number in 1..=limits.phys_port_cnt {
                    ports.push(Port::look(&device.name, number, Ok(&context), &network));
                }
            }
            Err(failure) => ports.push(Port::look(&device.name, 1, Err(failure), &network)),
        }
    }
    ports
}

/// Opens a device by its name.
pub(crate) fn open(name: &str) -> Result<Context> {
    sys::libraries().map_err(not_loaded)?;
    let devices =
        verbs::devices().map_err(|failure| internal(failure, "cannot list the RDMA devices"))?;
    let device = devices
        .iter()
        .find(|device| device.name == name)
        .ok_or_else(|| no_such(format!("there is no RDMA device {name}")))?;
    device.open().map_err(|failure| closed(name, failure))
}

/// The error of a device that cannot be opened.
fn closed(name: &str, failure: Failure) -> Error {
    let error = Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice).device(name);
    match obstacle(Path::new("/"), name) {
        Some(obstacle) => error
            .because(format!("cannot open the device {name}: {}", obstacle.reason()))
            .advise(obstacle.advice()),
        None => error
            .errno(failure.errno)
            .because(format!("cannot open the device {name}"))
            .advise("run `dat doctor`, which checks the device, its driver and the limits"),
    }
}

/// The device and port in the name of an adapter.
pub(crate) fn split_name(name: &str) -> Option<(&str, u8)> {
    let (device, port) = name.rsplit_once('-')?;
    Some((device, port.parse().ok().filter(|port| *port > 0)?))
}

impl Port {
    fn look(
        device: &str,
        number: u8,
        context: std::result::Result<&Context, Failure>,
        network: &[Interface],
    ) -> Self {
        let opened = context.ok().cloned();
        let gids = match &opened {
            Some(context) if !port_folder(device, number).exists() => {
                gids_of_library(context, number)
            }
            _ => gids(device, number),
        };
        let names = network::of_port(device, number, network);
        let state = context.and_then(|context| {
            let port = context.query_port(number)?;
            let link_layer = match port.link_layer {
                LinkLayer::Ethernet if context.is_iwarp() => "iWARP",
                LinkLayer::Ethernet => "RoCE",
                LinkLayer::InfiniBand => "InfiniBand",
                _ if context.is_iwarp() => "iWARP",
                _ => "unknown link",
            };
            Ok(State {
                is_active: port.state == PortState::Active,
                is_up: state_name(port.state),
                link_layer,
                speed: rate(device, number),
            })
        });
        let interfaces = if names.is_empty() {
            network::of_gids(&gids, network)
        } else {
            network.iter().filter(|interface| names.contains(&interface.name)).cloned().collect()
        };
        let gid = gids.into_iter().next();
        Self { device: device.to_owned(), number, context: opened, state, interfaces, gid }
    }

    /// The name of the adapter.
    pub(crate) fn name(&self) -> String {
        format!("{}-{}", self.device, self.number)
    }

    /// The address for connections: IPv4 is preferred to IPv6, and link-local addresses come last.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        let all = self.interfaces.iter().flat_map(|interface| interface.addresses.iter());
        all.min_by_key(|address| match address.ip() {
            IpAddr::V4(_) => 0,
            IpAddr::V6(v6) if !v6.is_unicast_link_local() => 1,
            IpAddr::V6(_) => 2,
        })
        .copied()
    }

    /// A one-line description for people.
    pub(crate) fn summary(&self) -> String {
        let mut parts = Vec::new();
        if let Ok(state) = &self.state {
            parts.push(format!("port {} {}", self.number, state.is_up));
            parts.push(state.link_layer.to_owned());
            if !state.speed.is_empty() {
                parts.push(state.speed.clone());
            }
        }
        let names: Vec<&str> =
            self.interfaces.iter().map(|interface| interface.name.as_str()).collect();
        if !names.is_empty() {
            parts.push(format!("on {}", names.join(" and ")));
        }
        if let Some(address) = self.address() {
            parts.push(format!("address {}", address.ip()));
        }
        if let Some(gid) = &self.gid {
            parts.push(format!("GID {gid}"));
        }
        parts.join(", ")
    }

    /// Why it cannot be opened now, if it cannot.
    pub(crate) fn unusable(&self) -> Option<Error> {
        let resource = Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice);
        match &self.state {
            Err(failure) => Some(closed(&self.device, *failure)),
            Ok(state) if !state.is_active => Some(
                resource
                    .because(format!("port {} is {}", self.number, state.is_up))
                    .advise("check the cable, the switch and, for InfiniBand, the subnet manager"),
            ),
            Ok(_) if self.address().is_none() => Some(
                resource
                    .because("no network device of the port has an IP address")
                    .advise("connections need an IP address: `ip addr add ADDRESS dev DEVICE`"),
            ),
            Ok(_) => None,
        }
    }
}

/// The name of a port state (ibv_query_port(3)).
const fn state_name(state: PortState) -> &'static str {
    match state {
        PortState::Down => "down",
        PortState::Initializing => "initialising",
        PortState::Armed => "armed",
        PortState::Active => "active",
        PortState::ActiveDeferred => "active, deferred",
        _ => "in an unknown state",
    }
}

/// The speed of a port, as the kernel describes it.
fn rate(device: &str, port: u8) -> String {
    let text = std::fs::read_to_string(port_folder(device, port).join("rate")).unwrap_or_default();
    text.split(" (").next().unwrap_or_default().trim().to_owned()
}

/// Number of entries of a GID table that are read.
const LOOKED_AT: u32 = 16;

/// The GIDs of a port that the kernel does not know, written as the kernel writes GIDs.
fn gids_of_library(context: &Context, port: u8) -> Vec<String> {
    let gids = (0..LOOKED_AT).map_while(|index| context.gid(port, index).ok());
    gids.map(|gid| Ipv6Addr::from(gid.0))
        .filter(|gid| !gid.is_unspecified())
        .map(|gid| gid.segments().map(|part| format!("{part:04x}")).join(":"))
        .collect()
}

/// The GIDs of a port that are set, among the first of the table.
fn gids(device: &str, port: u8) -> Vec<String> {
    let folder = port_folder(device, port).join("gids");
    (0..LOOKED_AT)
        .filter_map(|index| std::fs::read_to_string(folder.join(index.to_string())).ok())
        .map(|gid| gid.trim().to_owned())
        .filter(|gid| gid.chars().any(|digit| digit != '0' && digit != ':'))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn a_library_in_front_of_the_system_is_found_by_the_path_of_the_loader() {
        let folder = std::env::temp_dir().join(format!("dat-discovery-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = |before: &str| OsString::from(format!("{before}{}", folder.display()));
        assert!(!is_library_in(&path("")), "it has no library");
        std::fs::write(folder.join("libibverbs.so.1"), "").expect("a file");
        assert!(is_library_in(&path("")) && is_library_in(&path("/nowhere:;/other:")));
        assert!(!is_library_in(OsStr::new("")) && !is_library_in(OsStr::new(":")));
        std::fs::remove_dir_all(&folder).expect("it was created above");
    }

    #[test]
    fn adapter_names_split_into_device_and_port() {
        assert_eq!(split_name("rxe0-1"), Some(("rxe0", 1)));
        assert_eq!(split_name("bnxt_re-bond0-2"), Some(("bnxt_re-bond0", 2)));
        assert_eq!(split_name("rxe0"), None);
        assert_eq!(split_name("rxe0-0"), None);
        assert_eq!(split_name("rxe0-x"), None);
    }
}
