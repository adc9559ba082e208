//! Addresses, qualifiers and quality of service.

use core::ffi::c_int;

use super::*;

/// A socket address of any family.
pub type DAT_SOCK_ADDR = libc::sockaddr;

/// A socket address of IPv6.
pub type DAT_SOCK_ADDR6 = libc::sockaddr_in6;

/// The network address of an adapter.
pub type DAT_IA_ADDRESS_PTR = *mut DAT_SOCK_ADDR;

/// A connection qualifier: identifies a service on an adapter.
pub type DAT_CONN_QUAL = DAT_UINT64;

/// The adapter port that a connection uses.
pub type DAT_PORT_QUAL = DAT_UINT64;

/// Quality of service of a connection.
pub type DAT_QOS = u32;
pub const DAT_QOS_BEST_EFFORT: DAT_QOS = 0x0;
pub const DAT_QOS_HIGH_THROUGHPUT: DAT_QOS = 0x1;
pub const DAT_QOS_LOW_LATENCY: DAT_QOS = 0x2;
pub const DAT_QOS_ECONOMY: DAT_QOS = 0x4;
pub const DAT_QOS_PREMIUM: DAT_QOS = 0x8;

pub const DAT_AF_INET: c_int = libc::AF_INET;
pub const DAT_AF_INET6: c_int = libc::AF_INET6;

v2! {
    /// The domain, type and protocol of a common service point, as in socket(2).
    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct DAT_COMM {
        pub domain: c_int,
        pub r#type: c_int,
        pub protocol: c_int,
    }
}
