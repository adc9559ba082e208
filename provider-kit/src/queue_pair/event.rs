//! Connection events that wait to be reported.

use dat_provider::{ConnectionSink, ConnectionUpcall, RefusalCause, RemoteAddress};

use crate::protocol::Established;

/// A connection event.
pub(super) enum Event {
    Established(Established),
    /// The address of a peer for datagrams, and the private data of the answer.
    Resolved(RemoteAddress, Vec<u8>),
    PeerRejected(Vec<u8>),
    NonPeerRejected(RefusalCause),
    Unreachable,
    AcceptFailed(RefusalCause),
    Disconnected,
    Broken,
    /// A request waits for a receive.
    ReceiveAwaited,
}

impl Event {
    /// Returns true if an established connection has ended.
    pub(super) fn is_end(&self) -> bool {
        matches!(self, Self::Disconnected | Self::Broken)
    }

    /// Makes the upcall.
    pub(super) fn report(&self, attempt: u64, sink: &dyn ConnectionSink) {
        let upcall = match self {
            Self::Established(Established { private_data, peer, local_port }) => {
                ConnectionUpcall::Established { private_data, peer: *peer, local_port: *local_port }
            }
            Self::Resolved(remote, private_data) => {
                ConnectionUpcall::Resolved { remote, private_data }
            }
            Self::PeerRejected(private_data) => ConnectionUpcall::PeerRejected { private_data },
            Self::NonPeerRejected(cause) => ConnectionUpcall::NonPeerRejected { cause: *cause },
            Self::Unreachable => ConnectionUpcall::Unreachable,
            Self::AcceptFailed(cause) => ConnectionUpcall::AcceptFailed { cause: *cause },
            Self::Disconnected => ConnectionUpcall::Disconnected,
            Self::Broken => ConnectionUpcall::Broken,
            Self::ReceiveAwaited => return sink.receive_awaited(attempt),
        };
        sink.connection_event(attempt, upcall);
    }
}
