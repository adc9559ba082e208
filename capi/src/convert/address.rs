//! Socket addresses.

use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use dat_core::error::{Error, Result, ReturnType, Subtype};

use crate::abi::DAT_IA_ADDRESS_PTR;
use crate::argument;

/// Storage for an address of either family.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union SocketAddress {
    v4: libc::sockaddr_in,
    pub(crate) v6: libc::sockaddr_in6,
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
pub(crate) fn adapter_to_c(address: IpAddr) -> SocketAddress {
    to_c(SocketAddr::new(address, 0))
}

/// Converts a C address.
///
/// # Safety
/// The address is that of a socket address of the family in its first bytes, or is rejected.
pub(crate) unsafe fn from_c(pointer: DAT_IA_ADDRESS_PTR, argument: u32) -> Result<SocketAddr> {
    // SAFETY: the caller guarantees a socket address, and those of all families begin with the
    // family.
    let family = unsafe { argument::given(pointer.cast::<libc::sa_family_t>(), argument) }?;
    match i32::from(*family) {
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
        other => Err(Error::new(ReturnType::InvalidAddress, Subtype::InvalidAddressUnsupported)
            .because(format!("the address has the family {other}"))
            .advise("pass a sockaddr_in (AF_INET) or a sockaddr_in6 (AF_INET6)")),
    }
}
