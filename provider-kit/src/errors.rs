//! Errors that several modules return.

use std::net::IpAddr;

use dat_provider::Address;
use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_sync::region_table::NoContext;

/// The work queue is full. The error has no description, because consumers that poll get it often.
pub const fn no_credit() -> Error {
    Error::new(ReturnType::InsufficientResources, Subtype::ResourceCredits)
}

/// The error for an object that this provider did not create.
pub fn foreign_object(what: &'static str, subtype: Subtype) -> Error {
    Error::new(ReturnType::InvalidHandle, subtype)
        .because(format!("the {what} belongs to another provider"))
        .advise("use only objects of the same adapter together")
}

/// The region table has no context for a region.
pub fn no_region(why: NoContext) -> Error {
    Error::new(ReturnType::InsufficientResources, Subtype::ResourceMemoryRegion)
        .because(why.reason())
        .advise(why.advice())
}

/// A peer does not end its direct access to memory, for example because it is stopped.
pub fn still_accessed() -> Error {
    Error::new(ReturnType::InvalidState, Subtype::NoSubtype)
        .because(
            "a peer on this machine has been reading or writing the memory for two seconds; its \
             connection is ended",
        )
        .advise("do not use the memory for anything else while the peer's process exists")
}

/// A call in a state that does not allow it.
pub fn wrong_state(subtype: Subtype) -> Error {
    Error::new(ReturnType::InvalidState, subtype)
}

/// A second answer to a connection request.
pub(crate) fn already_answered() -> Error {
    wrong_state(Subtype::NoSubtype).because("the connection request was already answered")
}

/// The IP address of a peer, for a provider that connects over IP.
///
/// # Errors
/// `DAT_INVALID_ADDRESS` for the address of a fabric.
pub fn ip_address(peer: Address) -> Result<IpAddr> {
    peer.ip().ok_or_else(|| {
        Error::new(ReturnType::InvalidAddress, Subtype::InvalidAddressUnsupported)
            .because(format!("{peer} is not an IP address"))
            .advise("connect to the IP address that the adapter of the peer reports")
    })
}
