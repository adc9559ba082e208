//! Network interfaces: their state and their addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use nix::ifaddrs::getifaddrs;

use super::system::System;

const CLASS: &str = "/sys/class/net";

/// The addresses by interface.
#[derive(Debug)]
pub(super) struct Interfaces(Vec<(String, IpAddr)>);

impl Interfaces {
    /// Queries the kernel, or reads the files of a copied system.
    pub(super) fn read(system: &System) -> Self {
        if system.is_copy() { Self(copied(system)) } else { Self(live()) }
    }

    /// The addresses of an interface.
    pub(super) fn addresses(&self, name: &str) -> Vec<IpAddr> {
        self.0.iter().filter(|(owner, _)| owner == name).map(|(_, address)| *address).collect()
    }
}

/// The kernel's state of an interface: `up`, `down`, `unknown` and so on.
pub(super) fn state(system: &System, name: &str) -> Option<String> {
    system.text(Path::new(CLASS).join(name).join("operstate"))
}

/// Returns true if an interface with that name exists.
pub(super) fn exists(system: &System, name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && system.has(Path::new(CLASS).join(name))
}

fn live() -> Vec<(String, IpAddr)> {
    let Ok(entries) = getifaddrs() else { return Vec::new() };
    let address = |entry: nix::ifaddrs::InterfaceAddress| {
        let address = entry.address?;
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        let v6 = || address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip()));
        Some((entry.interface_name, v4.or_else(v6)?))
    };
    entries.filter_map(address).collect()
}

fn copied(system: &System) -> Vec<(String, IpAddr)> {
    let text = |file| system.text(file).unwrap_or_default();
    let mut found = v4(&text("/proc/net/fib_trie"), &text("/proc/net/route"));
    found.extend(text("/proc/net/if_inet6").lines().filter_map(v6));
    found
}

/// A line with an address in 32 digits, four other columns, and the interface.
fn v6(line: &str) -> Option<(String, IpAddr)> {
    let mut fields = line.split_whitespace();
    let address = u128::from_str_radix(fields.next()?, 16).ok()?;
    Some((fields.nth(4)?.to_owned(), IpAddr::V6(Ipv6Addr::from(address))))
}

/// The trie lists the addresses of this machine without interfaces, and the routes list
/// networks with interfaces. An address is assigned to every interface of its network.
fn v4(trie: &str, routes: &str) -> Vec<(String, IpAddr)> {
    let routes: Vec<Route> = routes.lines().filter_map(Route::parse).collect();
    let mut found = Vec::new();
    let mut leaf = None;
    for line in trie.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = address.parse::<Ipv4Addr>().ok();
        } else if line == "/32 host LOCAL" {
            let Some(address) = leaf else { continue };
            let fits = |route: &&Route| u32::from(address) & route.mask == route.network;
            let longest = routes.iter().filter(fits).map(|route| route.mask).max();
            for route in routes.iter().filter(fits).filter(|route| Some(route.mask) == longest) {
                found.push((route.interface.clone(), IpAddr::V4(address)));
            }
        }
    }
    // The trie contains each address in two tables.
    found.sort();
    found.dedup();
    found
}

/// A route to a directly connected network.
struct Route {
    interface: String,
    network: u32,
    mask: u32,
}

impl Route {
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // 32-bit words in network order, printed as native integers.
        let word = |at: usize| u32::from_str_radix(fields.get(at)?, 16).ok().map(u32::from_be);
        let (network, gateway, mask) = (word(1)?, word(2)?, word(7)?);
        (gateway == 0 && mask != 0).then(|| Self { interface: fields[0].to_owned(), network, mask })
    }
}
