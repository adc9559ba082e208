//! The address of another machine.

use std::net::{IpAddr, ToSocketAddrs};

use crate::error::CliError;

/// The address of a host, by name or in figures, in the address family of the adapter whose own
/// address is given. `command` is what runs there.
pub(crate) fn resolve(host: &str, own: IpAddr, command: &str) -> Result<IpAddr, CliError> {
    let unknown = |reason: String| {
        let mut error = CliError::unexpected(format!("{host}: {reason}"));
        error.advice = format!("use the address that {command} --listen printed there");
        error
    };
    let found = (host, 0).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    let mut found = found.map(|found| found.ip());
    found
        .find(|found| found.is_ipv4() == own.is_ipv4())
        .ok_or_else(|| unknown(format!("has no address of the same family as {own}")))
}
