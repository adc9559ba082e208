//! Connection qualifiers as port numbers.
//!
//! A port has 16 bits and a qualifier 64. Qualifiers up to 65,535 are ports; larger ones are folded
//! into the upper part of the range, as OpenFabrics DAPL does, so that each side of a connection
//! may use either library.

use dat_provider::LocalCause;
use dat_provider::error::{Error, ReturnType, Subtype};

/// Number of ports onto which larger qualifiers are folded.
const FOLDED: u64 = 32_001;
/// The first of them.
const FOLDED_FROM: u64 = 65_535 - FOLDED;

/// The port of a qualifier.
#[must_use]
pub const fn to_port(qualifier: u64) -> u16 {
    if qualifier > 0xffff {
        return (qualifier % FOLDED + FOLDED_FROM) as u16;
    }
    qualifier as u16
}

/// The error of a listener that could not be created: the failed call, its errno, and the requested
/// qualifier.
#[must_use]
pub fn refused(call: &str, errno: i32, qualifier: Option<u64>) -> Error {
    let named = qualifier.map_or_else(
        || "chosen by the system".to_owned(),
        |qualifier| match to_port(qualifier) {
            port if u64::from(port) == qualifier => port.to_string(),
            port => format!("{qualifier} (port {port})"),
        },
    );
    let error = match errno {
        libc::EADDRINUSE => Error::new(ReturnType::ConnQualInUse, Subtype::NoSubtype)
            .because(format!("connection qualifier {named} is already in use")),
        libc::EACCES | libc::EPERM => {
            let is_reserved = qualifier.is_some_and(|qualifier| to_port(qualifier) < 1024);
            Error::new(ReturnType::ConnQualUnavailable, Subtype::NoSubtype)
                .because(format!(
                    "no permission to listen on connection qualifier {named}: {call} failed"
                ))
                .advise(if is_reserved {
                    "choose one above 1023, or let dat_psp_create_any choose"
                } else {
                    LocalCause { what: "listen", errno }.advice()
                })
        }
        libc::EADDRNOTAVAIL => Error::new(ReturnType::ConnQualUnavailable, Subtype::NoSubtype)
            .because(format!(
                "cannot listen on connection qualifier {named}: the adapter's \
                 address is not available"
            )),
        _ => Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice)
            .because(format!("{call} failed for connection qualifier {named}"))
            .advise(LocalCause { what: "listen", errno }.advice()),
    };
    error.errno(errno)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_stay_and_others_are_folded() {
        assert_eq!(to_port(45_278), 45_278);
        assert_eq!(to_port(0xffff), 0xffff);
        assert_eq!(to_port(0x1_0000), (0x1_0000 % 32_001 + 33_534) as u16);
        assert!(to_port(u64::MAX) >= 33_534);
    }
}
