//! Socket addresses of C.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use libc::{AF_INET, AF_INET6, sockaddr, sockaddr_in, sockaddr_in6, sockaddr_storage, socklen_t};

use crate::guard::{Result, refused};

/// The address that a pointer of the program denotes; `None` for a null pointer and for an unspecified family.
///
/// # Safety
/// The pointer must be null, or denote an address of the length of its family.
pub(super) unsafe fn from_c(address: *const sockaddr) -> Result<Option<SocketAddr>> {
    if address.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller guarantees an address, which begins with its family.
    match i32::from(unsafe { (*address).sa_family }) {
        libc::AF_UNSPEC => Ok(None),
        AF_INET => {
            // SAFETY: the caller guarantees the length of the family; the program may align it as it likes.
            let v4 = unsafe { address.cast::<sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Ok(Some(SocketAddr::new(ip.into(), u16::from_be(v4.sin_port))))
        }
        AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { address.cast::<sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            let port = u16::from_be(v6.sin6_port);
            Ok(Some(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into()))
        }
        // Addresses of InfiniBand (AF_IB) have no meaning over IP.
        family => {
            let text = format!("cannot use an address of family {family}: use one of IPv4 or IPv6");
            Err(refused(libc::EAFNOSUPPORT, text))
        }
    }
}

/// Writes an address, or zeros for none. Returns its length.
pub(super) fn write(to: &mut sockaddr_storage, address: Option<SocketAddr>) -> socklen_t {
    // SAFETY: all zeros is a valid address: the family is unspecified.
    *to = unsafe { std::mem::zeroed() };
    match address {
        None => 0,
        Some(SocketAddr::V4(v4)) => {
            let c = sockaddr_in {
                sin_family: AF_INET as u16,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(*v4.ip()).to_be() },
                sin_zero: [0; 8],
            };
            // SAFETY: the storage is longer, and aligned for every family.
            unsafe { (&raw mut *to).cast::<sockaddr_in>().write(c) };
            size_of::<sockaddr_in>() as socklen_t
        }
        Some(SocketAddr::V6(v6)) => {
            let c = sockaddr_in6 {
                sin6_family: AF_INET6 as u16,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: as above.
            unsafe { (&raw mut *to).cast::<sockaddr_in6>().write(c) };
            size_of::<sockaddr_in6>() as socklen_t
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_as_they_were() {
        // SAFETY: all zeros is a valid address: the family is unspecified.
        let mut storage: sockaddr_storage = unsafe { std::mem::zeroed() };
        for text in ["192.0.2.1:7", "[2001:db8::1]:65535", "[fe80::1%3]:1"] {
            let address: SocketAddr = text.parse().expect("an address");
            assert_ne!(write(&mut storage, Some(address)), 0);
            // SAFETY: it was written for this family.
            let back = unsafe { from_c((&raw const storage).cast()) };
            assert_eq!(back, Ok(Some(address)));
        }
        assert_eq!(write(&mut storage, None), 0);
        // SAFETY: zeros are the unspecified family.
        assert_eq!(unsafe { from_c((&raw const storage).cast()) }, Ok(None));
    }
}
