//! Socket addresses.

use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::{Address, FabricAddress};

use crate::abi::DAT_IA_ADDRESS_PTR;
use crate::argument;

/// Storage for an address of any family.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union SocketAddress {
    v4: libc::sockaddr_in,
    pub(crate) v6: libc::sockaddr_in6,
    fabric: FabricSockaddr,
}

/// The address of a fabric: the family, and bytes that only the provider understands.
#[repr(C)]
#[derive(Clone, Copy)]
struct FabricSockaddr {
    family: libc::sa_family_t,
    bytes: [u8; FabricAddress::MAX_LENGTH],
}

/// Converts an address to C.
pub(crate) fn to_c(address: SocketAddr) -> SocketAddress {
    // SAFETY: all fields are numbers, for which zero is valid.
    let mut to: SocketAddress = unsafe { mem::zeroed() };
    match address {
        SocketAddr::V4(from) => {
            to.v4.sin_family = libc::AF_INET as libc::sa_family_t;
            to.v4.sin_port = from.port().to_be();
            to.v4.sin_addr.s_addr = u32::from_ne_bytes(from.ip().octets());
        }
        SocketAddr::V6(from) => {
            to.v6.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            to.v6.sin6_port = from.port().to_be();
            to.v6.sin6_flowinfo = from.flowinfo();
            to.v6.sin6_addr.s6_addr = from.ip().octets();
            to.v6.sin6_scope_id = from.scope_id();
        }
    }
    to
}

/// Converts the address of an adapter to C: without a port.
pub(crate) fn adapter_to_c(address: Address) -> SocketAddress {
    match address {
        Address::Ip(ip) => to_c(SocketAddr::new(ip, 0)),
        Address::Fabric(from) => {
            let mut bytes = [0; FabricAddress::MAX_LENGTH];
            bytes[..from.bytes().len()].copy_from_slice(from.bytes());
            SocketAddress { fabric: FabricSockaddr { family: from.family(), bytes } }
        }
    }
}

/// Converts the C address of a peer of an adapter whose own address is `own`: an IP address, or one
/// of the same family and length as `own`.
///
/// # Safety
/// The address is that of a socket address of the family in its first bytes, or is rejected.
pub(crate) unsafe fn peer_from_c(
    pointer: DAT_IA_ADDRESS_PTR,
    argument: u32,
    own: Address,
) -> Result<Address> {
    if let Address::Fabric(own) = own {
        // SAFETY: the caller guarantees a socket address, and those of all families begin with the
        // family.
        let family = unsafe { argument::given(pointer.cast::<libc::sa_family_t>(), argument) }?;
        if family == own.family() {
            let first = pointer.cast::<u8>().wrapping_add(size_of::<libc::sa_family_t>());
            // SAFETY: the caller guarantees an address of that family, and all addresses of one
            // family of an adapter have the same length.
            let bytes = unsafe { std::slice::from_raw_parts(first, own.bytes().len()) };
            return FabricAddress::new(family, bytes).map(Address::Fabric).ok_or_else(unsupported);
        }
    }
    // SAFETY: as the caller guarantees.
    unsafe { from_c(pointer, argument) }.map(|address| address.ip().into())
}

/// Converts a C address of an IP family.
///
/// # Safety
/// The address is that of a socket address of the family in its first bytes, or is rejected.
pub(crate) unsafe fn from_c(pointer: DAT_IA_ADDRESS_PTR, argument: u32) -> Result<SocketAddr> {
    // SAFETY: the caller guarantees a socket address, and those of all families begin with the
    // family.
    let family = unsafe { argument::given(pointer.cast::<libc::sa_family_t>(), argument) }?;
    match i32::from(family) {
        libc::AF_INET => {
            // SAFETY: the caller guarantees an address of that family; it may be unaligned.
            let from = unsafe { pointer.cast::<libc::sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(from.sin_addr.s_addr.to_ne_bytes());
            Ok(SocketAddr::from((ip, u16::from_be(from.sin_port))))
        }
        libc::AF_INET6 => {
            // SAFETY: the caller guarantees an address of that family; it may be unaligned.
            let from = unsafe { pointer.cast::<libc::sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(from.sin6_addr.s6_addr);
            Ok(SocketAddr::from((ip, u16::from_be(from.sin6_port))))
        }
        other => Err(unsupported()
            .because(format!("the address has the family {other}"))
            .advise("pass a sockaddr_in (AF_INET) or a sockaddr_in6 (AF_INET6)")),
    }
}

fn unsupported() -> Error {
    Error::new(ReturnType::InvalidAddress, Subtype::InvalidAddressUnsupported)
}
