//! The address of another machine.

use std::net::ToSocketAddrs;

use dat_core::Address;

use crate::error::CliError;

/// The address of a host, by name or in figures, in the address family of the adapter whose own
/// address is given. `command` is what runs there.
pub(crate) fn resolve(host: &str, own: Address, command: &str) -> Result<Address, CliError> {
    let unknown = |reason: String| {
        let mut error = CliError::unexpected(format!("{host}: {reason}"));
        error.advice = format!("use the address that {command} --listen printed there");
        error
    };
    let Address::Ip(own) = own else {
        return host.parse().map_err(|_| unknown(format!("is not an address like {own}")));
    };
    let found = (host, 0).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    let mut found = found.map(|found| found.ip());
    found
        .find(|found| found.is_ipv4() == own.is_ipv4())
        .map(Address::Ip)
        .ok_or_else(|| unknown(format!("has no address of the same family as {own}")))
}
