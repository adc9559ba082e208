//! The ports of RDMA devices: whether the link is up, and whether they have the addresses that
//! connections need.

use std::net::IpAddr;

use super::device::{Device, Port};
use super::interface;
use super::machine::Machine;
use super::report::{Check, Finding, plural};

/// Checks the link, the GIDs and the address of each port.
pub(super) fn check(machine: &Machine) -> Check {
    let mut findings = Vec::new();
    for device in &machine.devices {
        if device.ports.is_empty() {
            findings.push(
                Finding::problem(&device.name, "the kernel shows no ports of this device")
                    .advise("check the driver's messages: dmesg"),
            );
        }
        for port in &device.ports {
            findings.extend(View { machine, device, port }.findings());
        }
    }
    if findings.is_empty() {
        findings.push(
            Finding::note("ports", "no RDMA device; the loopback adapter does not need one")
                .advise(
                    "if there should be one: load its driver, or create a soft-RoCE device on a \
                 network interface, as root: rdma link add rxe0 type rxe netdev eth0",
                ),
        );
    }
    Check { key: "ports", title: "RDMA ports", findings }
}

/// A port with its device.
struct View<'a> {
    machine: &'a Machine,
    device: &'a Device,
    port: &'a Port,
}

impl View<'_> {
    fn findings(&self) -> Vec<Finding> {
        [("link", self.link()), ("gids", self.gids()), ("address", self.address())]
            .into_iter()
            .map(|(topic, finding)| {
                finding
                    .fact("device", &self.device.name)
                    .fact("port", &self.port.number)
                    .fact("topic", topic)
            })
            .collect()
    }

    fn name(&self) -> String {
        format!("{} port {}", self.device.name, self.port.number)
    }

    fn link(&self) -> Finding {
        let port = self.port;
        let mut words = vec![port.state.as_deref().unwrap_or("state unknown")];
        // The physical state is relevant only if the port is not active.
        let physical = port.physical.as_deref().filter(|_| !port.is_active());
        words.extend(physical);
        words.extend(if port.is_iwarp { Some("iWARP") } else { port.link_layer.as_deref() });
        words.extend(port.rate.as_deref());
        let found = words.join(", ");
        let finding = if port.is_active() {
            Finding::ok(self.name(), found)
        } else {
            Finding::problem(self.name(), found).advise(self.cure())
        };
        finding
            .fact("state", &port.state)
            .fact("phys_state", &port.physical)
            .fact("link_layer", &port.link_layer)
            .fact("iwarp", port.is_iwarp)
            .fact("rate", &port.rate)
    }

    /// The advice for a link that is down.
    fn cure(&self) -> String {
        let port = self.port;
        if let Some(name) = port.interfaces.iter().find(|name| self.is_down(name)) {
            return up(name);
        }
        match (port.state.as_deref(), port.physical.as_deref()) {
            (None, _) => "the kernel does not report its state: check dmesg".to_owned(),
            (Some("INIT" | "ARMED"), _) => {
                "the cable is connected, but no subnet manager has configured the port: start one \
                 (opensm) on a host or switch of this fabric"
                    .to_owned()
            }
            (_, Some("Polling")) => {
                "the other end does not respond: check the cable and the port it is connected to"
                    .to_owned()
            }
            (_, Some("Disabled")) => {
                "the port is disabled: enable it, for example with ibportstate or mlxconfig, or \
                 bring up its network interface"
                    .to_owned()
            }
            _ => "check the cable and the other end, and the kernel log: dmesg".to_owned(),
        }
    }

    fn is_down(&self, name: &str) -> bool {
        interface::state(&self.machine.system, name).as_deref() == Some("down")
    }

    fn gids(&self) -> Finding {
        let gids = &self.port.gids;
        let subject = format!("{} GIDs", self.name());
        let finding = match gids.as_slice() {
            [] => Finding::problem(subject, "none: the port has no address on the fabric").advise(
                if self.port.is_ethernet() {
                    "GIDs come from its network interface: bring it up and assign an address"
                } else {
                    "the subnet manager assigns it: start one (opensm) in this fabric"
                },
            ),
            [gid] => Finding::ok(subject, gid.to_string()),
            [gid, rest @ ..] => Finding::ok(subject, format!("{gid} and {} more", rest.len())),
        };
        finding.fact("gids", gids)
    }

    fn address(&self) -> Finding {
        let subject = format!("{} address", self.name());
        let names = &self.port.interfaces;
        let listed = names.join(", ");
        let mut addresses: Vec<IpAddr> = self.port.mapped_addresses().map(IpAddr::V4).collect();
        for name in names {
            addresses.extend(self.machine.interfaces.addresses(name));
        }
        addresses.sort();
        addresses.dedup();
        let (near, routable): (Vec<IpAddr>, Vec<IpAddr>) =
            addresses.iter().copied().partition(is_link_local);
        let state = |name| interface::state(&self.machine.system, name);
        let down = names.iter().find(|name| {
            matches!(state(name).as_deref(), Some("down" | "lowerlayerdown" | "notpresent"))
        });
        let finding = if let Some(name) = down {
            let is = state(name).unwrap_or_default();
            let found = format!("network interface {name} is {is}");
            if !self.port.is_active() {
                // The link is the problem, and its advice names the interface.
                Finding::note(subject, found)
            } else if is == "down" {
                Finding::problem(subject, found).advise(up(name))
            } else {
                Finding::problem(subject, found)
                    .advise(format!("check the cable of {name}, or its underlying interface"))
            }
        } else if !routable.is_empty() {
            let shown: Vec<String> = routable.iter().map(ToString::to_string).collect();
            let on = if names.is_empty() { String::new() } else { format!(" on {listed}") };
            Finding::ok(subject, format!("{}{on}", shown.join(", ")))
        } else if names.is_empty() {
            let found = "no network interface, but connections need an IP address";
            Finding::problem(subject, found).advise(self.interface_cure())
        } else {
            let only = if near.is_empty() {
                String::new()
            } else {
                format!(", only {} link-local one{}", near.len(), plural(near.len()))
            };
            let found = format!("{listed} has no IP address{only}, but connections need one");
            let give = format!(
                "as root, with an address of your network: ip address add 192.0.2.1/24 dev {}",
                names[0]
            );
            Finding::problem(subject, found).advise(give)
        };
        finding.fact("interfaces", names).fact("addresses", addresses)
    }

    fn interface_cure(&self) -> &'static str {
        match (&self.machine.container, self.port.is_ethernet()) {
            (Some(_), _) => {
                "the interface may belong to the host: start the container with --network host"
            }
            (None, true) => "bring up the network interface of this port: ip link",
            (None, false) => {
                "load IP over InfiniBand, as root: modprobe ib_ipoib, then bring up its interface \
                 and assign an address"
            }
        }
    }
}

fn up(name: &str) -> String {
    format!("network interface {name} is down; as root: ip link set {name} up")
}

fn is_link_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80,
    }
}
