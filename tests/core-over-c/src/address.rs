//! Socket addresses of the C API.

use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use real::{Address, FabricAddress};

use crate::abi::DAT_IA_ADDRESS_PTR;

/// A socket address of any family.
#[repr(C)]
pub(crate) union SocketAddress {
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
    fabric: FabricSockaddr,
}

/// The address of a fabric. It is handled as programs do that know nothing of the family: 28 bytes,
/// the size of `DAT_SOCK_ADDR6`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FabricSockaddr {
    family: libc::sa_family_t,
    bytes: [u8; 26],
}

impl SocketAddress {
    pub(crate) fn new(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(from) => {
                // SAFETY: the struct holds integers, for which all zero bits are valid.
                let mut v4: libc::sockaddr_in = unsafe { mem::zeroed() };
                v4.sin_family = libc::AF_INET as libc::sa_family_t;
                v4.sin_port = from.port().to_be();
                v4.sin_addr.s_addr = u32::from_ne_bytes(from.ip().octets());
                Self { v4 }
            }
            SocketAddr::V6(from) => {
                // SAFETY: the struct holds integers, for which all zero bits are valid.
                let mut v6: libc::sockaddr_in6 = unsafe { mem::zeroed() };
                v6.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                v6.sin6_port = from.port().to_be();
                v6.sin6_addr.s6_addr = from.ip().octets();
                v6.sin6_scope_id = from.scope_id();
                Self { v6 }
            }
        }
    }

    /// An address without a port.
    pub(crate) fn of(address: Address) -> Self {
        match address {
            Address::Ip(ip) => Self::new(SocketAddr::new(ip, 0)),
            Address::Fabric(from) => {
                let mut bytes = [0; 26];
                bytes[..from.bytes().len()].copy_from_slice(from.bytes());
                Self { fabric: FabricSockaddr { family: from.family(), bytes } }
            }
        }
    }

    /// The pointer to pass to a call.
    pub(crate) const fn pointer(&mut self) -> DAT_IA_ADDRESS_PTR {
        (&raw mut *self).cast()
    }
}

/// Reads the address of an adapter at a pointer of the library; `None` for NULL.
pub(crate) fn read_adapter(from: DAT_IA_ADDRESS_PTR) -> Option<Address> {
    if from.is_null() {
        return None;
    }
    // SAFETY: the pointer is not NULL, and the library promises a socket address there.
    match i32::from(unsafe { (*from).sa_family }) {
        libc::AF_INET | libc::AF_INET6 => read(from).map(|address| address.ip().into()),
        _ => {
            // SAFETY: the library promises at least 28 bytes for any other family.
            let from = unsafe { from.cast::<FabricSockaddr>().read_unaligned() };
            FabricAddress::new(from.family, &from.bytes).map(Address::Fabric)
        }
    }
}

/// Reads the socket address at a pointer of the library; `None` for NULL.
pub(crate) fn read(from: DAT_IA_ADDRESS_PTR) -> Option<SocketAddr> {
    if from.is_null() {
        return None;
    }
    // SAFETY: the pointer is not NULL, and the library promises a socket address there.
    let family = unsafe { (*from).sa_family };
    match i32::from(family) {
        libc::AF_INET => {
            // SAFETY: the family says which struct is there.
            let from = unsafe { from.cast::<libc::sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(from.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddr::from((ip, u16::from_be(from.sin_port))))
        }
        libc::AF_INET6 => {
            // SAFETY: the family says which struct is there.
            let from = unsafe { from.cast::<libc::sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(from.sin6_addr.s6_addr);
            Some(SocketAddr::from((ip, u16::from_be(from.sin6_port))))
        }
        other => panic!("the library returned an address of unknown family {other}"),
    }
}
