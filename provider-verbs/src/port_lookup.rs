//! Selects a port by a name and the IA parameters of a dat.conf line.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider_kit::network::interfaces;

use crate::cm::{CmId, PortSpace};
use crate::discovery::{self, Port, split_name};
use crate::errors::internal;
use crate::provider::no_such;
use crate::verbs::Context;

/// The port to open.
pub(crate) struct Target {
    pub(crate) context: Context,
    pub(crate) port: u8,
    pub(crate) address: SocketAddr,
}

/// Finds the port: by the parameters, or otherwise by the name.
pub(crate) fn find(name: &str, parameters: &str) -> Result<Target> {
    let mut words = parameters.split_whitespace();
    let Some(first) = words.next() else {
        let (device, port) = split_name(name).ok_or_else(|| {
            no_such(format!(
                "{name} does not name a device and port (such as mlx5_0-1), and there are no \
                 parameters"
            ))
        })?;
        return by_device(device, port);
    };
    let number = match words.next() {
        None => 0,
        Some(word) => word
            .parse()
            .map_err(|_| invalid(format!("the second parameter {word:?} is not a port number")))?,
    };
    if let Some(more) = words.next() {
        return Err(invalid(format!("unexpected parameter {more:?}")));
    }
    if let Some((device, port)) = split_name(first) {
        if let Ok(target) = by_device(device, port) {
            return Ok(target);
        }
    }
    if discovery::is_there(first) {
        return by_device(first, number.max(1));
    }
    by_address(first, address_of(first)?)
}

fn invalid(reason: String) -> Error {
    Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1).because(reason).advise(
        "use a network device, an RDMA device and port, or an address: \"ib0 0\", \"mlx5_0 1\", \
         \"10.0.0.1 0\"",
    )
}

/// Finds a port by its device and number.
fn by_device(device: &str, number: u8) -> Result<Target> {
    let mut ports = discovery::ports_of(|name| name == device);
    let Some(at) = ports.iter().position(|port| port.number == number) else {
        let have: Vec<String> = discovery::ports().iter().map(Port::name).collect();
        return Err(no_such(match have.as_slice() {
            [] => format!("there is no RDMA device {device}, and no other one"),
            have => format!("there is no {device}-{number}; available: {}", have.join(", ")),
        }));
    };
    let mut port = ports.swap_remove(at);
    match (port.context.take(), port.address()) {
        // A port that is down is opened nevertheless: it may come up.
        (Some(context), Some(address)) => Ok(Target { context, port: number, address }),
        _ => Err(port
            .unusable()
            .unwrap_or_else(|| no_such(format!("{device}-{number} has no address")))),
    }
}

/// The address of a network device, a literal address, or the address of a host name.
fn address_of(word: &str) -> Result<SocketAddr> {
    let interfaces = interfaces();
    if let Some(interface) = interfaces.iter().find(|interface| interface.name == word) {
        let v4 = interface.addresses.iter().find(|address| address.is_ipv4());
        return v4.or(interface.addresses.first()).copied().ok_or_else(|| {
            no_such(format!("the network device {word} has no IP address"))
                .advise(format!("add one: `ip addr add ADDRESS dev {word}`"))
        });
    }
    if let Ok(address) = word.parse::<IpAddr>() {
        let known = interfaces.iter().flat_map(|interface| interface.addresses.iter());
        let own = known.copied().find(|own| own.ip() == address);
        return Ok(own.unwrap_or(SocketAddr::new(address, 0)));
    }
    let found = (word, 0).to_socket_addrs().map_err(|error| {
        no_such(format!(
            "{word} is not an RDMA device, a network device or an address, and cannot be resolved \
             as a host name: {error}"
        ))
    })?;
    found.min_by_key(SocketAddr::is_ipv6).ok_or_else(|| no_such(format!("{word} has no address")))
}

/// Finds the port of an address of this machine, through the connection manager.
fn by_address(word: &str, address: SocketAddr) -> Result<Target> {
    let id = CmId::new_synchronous(PortSpace::Tcp).map_err(|failure| {
        internal(
            failure,
            "cannot create an identifier for the address \
             lookup",
        )
    })?;
    let none = || no_such(format!("no RDMA device has the address {} ({word})", address.ip()));
    id.bind(address).map_err(|failure| none().errno(failure.errno))?;
    let context = id.context().ok_or_else(none)?;
    let context = discovery::open(&context.name())?;
    Ok(Target { context, port: id.port(), address })
}
