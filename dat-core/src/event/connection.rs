//! Events of connections.

use std::sync::Arc;

use super::EndpointId;

/// What happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum ConnectionEventKind {
    /// It stands.
    Established = 0x4001,
    /// The other consumer refused it.
    PeerRejected = 0x4002,
    /// Nobody listens, the backlog was full, or the transport failed.
    NonPeerRejected = 0x4003,
    /// An accepted connection could not be completed.
    AcceptCompletionError = 0x4004,
    /// It was ended by either side.
    Disconnected = 0x4005,
    /// It broke on an error.
    Broken = 0x4006,
    /// The consumer's time-out passed before it stood.
    TimedOut = 0x4007,
    /// The other adapter can't be reached.
    Unreachable = 0x4008,
}

impl ConnectionEventKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Established,
        Self::PeerRejected,
        Self::NonPeerRejected,
        Self::AcceptCompletionError,
        Self::Disconnected,
        Self::Broken,
        Self::TimedOut,
        Self::Unreachable,
    ];

    /// The event number of the C API.
    #[must_use]
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The name in the C headers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Established => "DAT_CONNECTION_EVENT_ESTABLISHED",
            Self::PeerRejected => "DAT_CONNECTION_EVENT_PEER_REJECTED",
            Self::NonPeerRejected => "DAT_CONNECTION_EVENT_NON_PEER_REJECTED",
            Self::AcceptCompletionError => "DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR",
            Self::Disconnected => "DAT_CONNECTION_EVENT_DISCONNECTED",
            Self::Broken => "DAT_CONNECTION_EVENT_BROKEN",
            Self::TimedOut => "DAT_CONNECTION_EVENT_TIMED_OUT",
            Self::Unreachable => "DAT_CONNECTION_EVENT_UNREACHABLE",
        }
    }
}

/// An event of a connection (`DAT_CONNECTION_EVENT_DATA`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionEvent {
    /// What happened.
    pub kind: ConnectionEventKind,
    /// The endpoint.
    pub ep: EndpointId,
    /// What the other consumer sent with its accept or reject; else empty.
    pub private_data: Arc<[u8]>,
}
