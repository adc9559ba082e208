//! The addresses of another machine.

use std::net::{IpAddr, ToSocketAddrs};

use dat_core::Address;

use crate::error::CliError;

/// The addresses of a host, by name or in figures: those of the address family of the adapter, whose own
/// address is given, come first. `command` is what runs there.
pub(crate) fn resolve(host: &str, own: Address, command: &str) -> Result<Vec<Address>, CliError> {
    let unknown = |reason: String| {
        let mut error = CliError::unexpected(format!("{host}: {reason}"));
        error.advice = format!("use the address that {command} --listen printed there");
        error
    };
    let Address::Ip(own) = own else {
        let address = host.parse().map_err(|_| unknown(format!("is not an address like {own}")))?;
        return Ok(vec![address]);
    };
    let found = (host, 0).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    let mut found: Vec<IpAddr> = found.map(|found| found.ip().to_canonical()).collect();
    found.sort_by_key(|found| found.is_ipv4() != own.is_ipv4());
    Ok(found.into_iter().map(Address::from).collect())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[test]
    fn a_host_in_figures_has_one_address_whatever_that_of_the_adapter() {
        for (host, address) in [
            ("127.0.0.1", Ipv4Addr::LOCALHOST.into()),
            ("::1", Ipv6Addr::LOCALHOST.into()),
            ("::ffff:127.0.0.1", Address::from(Ipv4Addr::LOCALHOST)),
        ] {
            for own in [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()] {
                assert_eq!(resolve(host, own, "dat ping").expect(host), [address]);
            }
        }
    }

    #[test]
    fn the_family_of_the_adapter_comes_first() {
        let found = resolve("localhost", Ipv4Addr::LOCALHOST.into(), "dat ping").expect("a name");
        assert_eq!(found.first(), Some(&Ipv4Addr::LOCALHOST.into()));
    }
}
