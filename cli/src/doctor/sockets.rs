//! Sockets, which the adapters over TCP need: limits, ports, and a connection of each to itself.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::time::Duration;

use dat_core::registry::{Entry, EntryOrigin, EntryStatus};

use super::interface::Interfaces;
use super::machine::Machine;
use super::names;
use super::report::{Check, Finding};
use crate::output::Output;
use crate::providers;

/// The timeout of a plain connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// Below this number of descriptors, few connections fit besides what a program opens anyway.
const FEW: u64 = 256;

const PORTS: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// Checks the limits, and connects each adapter to itself. Nothing is connected of a copy.
pub(super) fn check(machine: &Machine, entries: &[Entry], output: &mut Output) -> Check {
    let mut findings = vec![descriptors(machine), ports(machine)];
    if machine.system.is_copy() {
        findings.push(Finding::note("connections", "not tried: this is a copy of a system"));
    } else {
        let is_tcp = |entry: &&Entry| {
            entry.library == providers::TCP
                && matches!(entry.origin, EntryOrigin::Discovered)
                && matches!(entry.status, EntryStatus::Usable)
        };
        let interfaces = Interfaces::read(&machine.system);
        let found = entries.iter().filter(is_tcp);
        findings.extend(found.map(|entry| connection(&entry.name, &interfaces, output)));
    }
    Check { key: "sockets", title: "Sockets", findings }
}

/// The limit of descriptors: each connection has one.
fn descriptors(machine: &Machine) -> Finding {
    let Some((Some(soft), Some(hard))) = machine.system.limits("Max open files") else {
        return Finding::note("descriptors", "cannot read the limit from /proc/self/limits")
            .advise("ulimit -Hn shows it");
    };
    let found = format!("{soft}, so {} connections of an adapter by default", soft / 2);
    let finding = match soft {
        _ if hard < FEW => Finding::note("descriptors", format!("{found}: that is little")).advise(
            "for logins: the line \"* - nofile 65536\" in /etc/security/limits.d/dat.conf; for a \
             systemd service: LimitNOFILE=65536 in its unit",
        ),
        _ if soft < hard => Finding::ok(
            "descriptors",
            format!("{found}; the hard limit is {hard}"),
        )
        .advise(format!(
            "for more in programs that do not use select(2): ulimit -n {hard}, or the IA parameter \
                 descriptors=hard"
        )),
        _ => Finding::ok("descriptors", found),
    };
    finding.fact("soft", soft).fact("hard", hard)
}

/// The ports that connections are made from.
fn ports(machine: &Machine) -> Finding {
    let text = machine.system.text(PORTS).unwrap_or_default();
    let mut fields = text.split_whitespace().map(str::parse::<u32>);
    let (Some(Ok(low)), Some(Ok(high))) = (fields.next(), fields.next()) else {
        return Finding::note("ports", format!("cannot read {PORTS}"));
    };
    let count = (high + 1).saturating_sub(low);
    Finding::ok("ports", format!("{low} to {high}: {count} connections to one peer at a time"))
        .fact("low", low)
        .fact("high", high)
}

/// Connects an adapter to itself: with plain sockets first, which says what forbids it, and then by
/// the steps of `dat ping` through the provider.
fn connection(name: &str, interfaces: &Interfaces, output: &mut Output) -> Finding {
    let interface = name.strip_prefix("tcp-").unwrap_or(name);
    let address = routable(&interfaces.addresses(interface));
    let plain = address.map(|address| plain(address).map_err(|error| (address, error)));
    if let Some(Err((address, error))) = plain {
        return Finding::problem(name, format!("cannot connect to itself at {address}: {error}"))
            .advise(what_forbids(&error, interface))
            .fact("connected", false)
            .fact("errno", error.raw_os_error());
    }
    names::connects(name, ", but plain sockets connect", output)
}

/// The address that the provider uses: the first of IPv4 before one of IPv6.
fn routable(addresses: &[IpAddr]) -> Option<IpAddr> {
    let usable = addresses.iter().filter(|address| match address {
        IpAddr::V4(v4) => !v4.is_link_local(),
        IpAddr::V6(v6) => !v6.is_unicast_link_local(),
    });
    usable.min_by_key(|address| address.is_ipv6()).copied()
}

/// A connection from an address to itself.
fn plain(address: IpAddr) -> io::Result<()> {
    let listener = TcpListener::bind((address, 0))?;
    let _connected = TcpStream::connect_timeout(&listener.local_addr()?, PATIENCE)?;
    listener.accept().map(|_| ())
}

/// The next check after a plain connection failed.
fn what_forbids(error: &io::Error, interface: &str) -> String {
    let firewall = format!(
        "a firewall may drop it: see nft list ruleset, or iptables -L -v, for {interface} and lo (a \
         machine's connections to itself go over lo)"
    );
    match (error.kind(), error.raw_os_error()) {
        (ErrorKind::TimedOut | ErrorKind::WouldBlock | ErrorKind::ConnectionRefused, _) => firewall,
        (ErrorKind::PermissionDenied, _) => {
            "a firewall, SELinux or a seccomp profile of the container forbids it: see nft list \
             ruleset and ausearch -m avc"
                .to_owned()
        }
        (ErrorKind::AddrNotAvailable, _) => {
            format!(
                "the address is gone or no port is free: see ip address show {interface}, ss -s"
            )
        }
        (_, Some(errno)) if errno == nix::errno::Errno::EMFILE as i32 => {
            "too few descriptors: raise ulimit -n".to_owned()
        }
        _ => format!("see ip address show {interface}, and ip link show lo, which must be up"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_address_connects_to_itself() {
        plain(IpAddr::from([127, 0, 0, 1])).expect("every machine does");
    }

    #[test]
    fn an_address_of_another_machine_is_refused_with_advice() {
        // An address for documents, which no machine has.
        let error = plain(IpAddr::from([203, 0, 113, 7])).expect_err("it is not ours");
        assert!(what_forbids(&error, "eth7").contains("ip address show eth7"), "{error}");
    }

    #[test]
    fn each_cause_has_its_advice() {
        let advice = |kind: ErrorKind| what_forbids(&kind.into(), "eth0");
        assert!(advice(ErrorKind::TimedOut).contains("firewall"));
        assert!(advice(ErrorKind::PermissionDenied).contains("SELinux"));
        let error = io::Error::from_raw_os_error(nix::errno::Errno::EMFILE as i32);
        assert!(what_forbids(&error, "eth0").contains("descriptors"));
    }

    #[test]
    fn ipv4_comes_first_and_addresses_of_the_link_are_left_out() {
        let addresses = |all: &[&str]| -> Vec<IpAddr> {
            all.iter().map(|text| text.parse().expect("an address")).collect()
        };
        let found = routable(&addresses(&["fe80::1", "2001:db8::1", "169.254.0.1", "192.0.2.1"]));
        assert_eq!(found, "192.0.2.1".parse().ok());
        assert_eq!(routable(&addresses(&["fe80::1"])), None);
    }
}
