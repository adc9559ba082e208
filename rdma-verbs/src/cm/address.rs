//! Conversion of IP addresses from and to C.

use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use libc::{sockaddr, sockaddr_in, sockaddr_in6, sockaddr_storage, socklen_t};

/// An IP address in its C form.
pub(super) struct CAddress(sockaddr_storage);

impl CAddress {
    pub(super) fn new(address: SocketAddr) -> Self {
        // SAFETY: all zeros is a valid value of the type: no family, no address.
        let mut storage: sockaddr_storage = unsafe { MaybeUninit::zeroed().assume_init() };
        match address {
            SocketAddr::V4(v4) => {
                let c = (&raw mut storage).cast::<sockaddr_in>();
                // SAFETY: the storage is as large and as aligned as every kind of address.
                let c = unsafe { &mut *c };
                c.sin_family = libc::AF_INET as libc::sa_family_t;
                c.sin_port = v4.port().to_be();
                c.sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
            }
            SocketAddr::V6(v6) => {
                let c = (&raw mut storage).cast::<sockaddr_in6>();
                // SAFETY: the storage is as large and as aligned as every kind of address.
                let c = unsafe { &mut *c };
                c.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                c.sin6_port = v6.port().to_be();
                c.sin6_addr.s6_addr = v6.ip().octets();
                c.sin6_flowinfo = v6.flowinfo();
                c.sin6_scope_id = v6.scope_id();
            }
        }
        Self(storage)
    }

    pub(super) fn as_ptr(&mut self) -> *mut sockaddr {
        (&raw mut self.0).cast()
    }

    /// Its length in bytes.
    pub(super) fn length(&self) -> socklen_t {
        let length = match i32::from(self.0.ss_family) {
            libc::AF_INET => size_of::<sockaddr_in>(),
            _ => size_of::<sockaddr_in6>(),
        };
        length as socklen_t
    }
}

/// Converts an address from C; `None` if its family is not an IP family.
pub(super) fn from_storage(storage: &sockaddr_storage) -> Option<SocketAddr> {
    // SAFETY: the storage is as large and as aligned as every kind of address.
    unsafe { from_c((&raw const *storage).cast()) }
}

/// Converts the address at a pointer; `None` if that is null or the family is not an IP family.
///
/// # Safety
/// A pointer that is not null must point to an address of the type that its family denotes.
pub(super) unsafe fn from_c(address: *const sockaddr) -> Option<SocketAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: every address begins with its family.
    match i32::from(unsafe { (*address).sa_family }) {
        libc::AF_INET => {
            // SAFETY: the family denotes the type of the address.
            let v4 = unsafe { &*address.cast::<sockaddr_in>() };
            let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family denotes the type of the address.
            let v6 = unsafe { &*address.cast::<sockaddr_in6>() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            let port = u16::from_be(v6.sin6_port);
            Some(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_the_conversion_to_c_and_back() {
        for text in ["10.1.2.3:1234", "[fe80::1]:9", "[2001:db8::7]:65535", "0.0.0.0:0"] {
            let address: SocketAddr = text.parse().expect("an address");
            assert_eq!(from_storage(&CAddress::new(address).0), Some(address));
        }
        let scoped = SocketAddrV6::new("fe80::2".parse().expect("an address"), 1, 0, 5).into();
        assert_eq!(from_storage(&CAddress::new(scoped).0), Some(scoped));
    }

    #[test]
    fn an_address_without_a_family_is_none() {
        // SAFETY: all zeros is a valid value of the type.
        assert_eq!(from_storage(&unsafe { MaybeUninit::zeroed().assume_init() }), None);
    }
}
