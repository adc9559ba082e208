//! Events of endpoints for datagrams.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use super::EndpointId;
use crate::provider::{DATAGRAM_PREFIX, RemoteAddress};

/// What happened to an attempt of an endpoint for datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum DatagramEventKind {
    /// The other side accepted, or was accepted: there is an address to send to.
    Established = 0x4_0002,
    /// The other consumer refused.
    Rejected = 0x4_0003,
    /// Nobody answered, or nobody could.
    Error = 0x4_0004,
}

impl DatagramEventKind {
    /// The event number of the C API.
    #[must_use]
    pub const fn number(self) -> u32 {
        self as u32
    }
}

/// An event of an endpoint for datagrams (`DAT_IB_EXTENSION_EVENT_DATA`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramEvent {
    /// What happened.
    pub kind: DatagramEventKind,
    /// The endpoint.
    pub ep: EndpointId,
    /// Whether the endpoint answered the request of another (`DAT_IB_UD_PASSIVE_REMOTE_AH`).
    pub passive: bool,
    /// Where to send to, once established.
    pub remote: Option<DatagramAddress>,
    /// What the other consumer sent: with its accept or reject, or, for the side that answered, with
    /// its request. Else empty.
    pub private_data: Arc<[u8]>,
}

/// Where datagrams can be sent to (`DAT_IB_ADDR_HANDLE`); dropping it frees it
/// (dat_ib_ud_ah_free).
#[derive(Clone, PartialEq, Eq)]
pub struct DatagramAddress {
    pub(crate) remote: RemoteAddress,
}

impl DatagramAddress {
    /// The bytes that a received datagram has before its message.
    pub const PREFIX: u64 = DATAGRAM_PREFIX;

    /// The adapter's address.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.remote.address
    }

    /// The number of the queue pair there.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.remote.number
    }
}

impl fmt::Debug for DatagramAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.remote.fmt(f)
    }
}
