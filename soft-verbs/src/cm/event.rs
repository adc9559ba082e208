//! The events of identifiers.

use std::fmt;
use std::sync::{Arc, Weak};

use super::Identifier;
use super::message::{Ece, Terms};

/// The kinds of events (`rdma_cm_event_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum EventKind {
    /// The address of the peer is resolved.
    AddressResolved = 0,
    /// It could not be resolved.
    AddressError = 1,
    /// The route to it is resolved.
    RouteResolved = 2,
    /// It could not be resolved.
    RouteError = 3,
    /// A peer requests a connection; the event has a new identifier.
    ConnectRequest = 4,
    /// The peer has accepted, and the identifier has no queue pair.
    ConnectResponse = 5,
    /// The connection could not be established.
    ConnectError = 6,
    /// The peer does not answer, or no way leads to it.
    Unreachable = 7,
    /// The peer has rejected the request.
    Rejected = 8,
    /// The connection is established, or the service of datagrams is found.
    Established = 9,
    /// The connection is over.
    Disconnected = 10,
    /// The device was removed, which this one never is.
    DeviceRemoval = 11,
    /// The identifier is a member of a multicast group.
    MulticastJoin = 12,
    /// It is not, or no longer.
    MulticastError = 13,
    /// The hardware address of the peer has changed, which is not noticed here.
    AddressChange = 14,
    /// The queue pair may be used again.
    TimewaitExit = 15,
}

impl EventKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 16] = [
        Self::AddressResolved,
        Self::AddressError,
        Self::RouteResolved,
        Self::RouteError,
        Self::ConnectRequest,
        Self::ConnectResponse,
        Self::ConnectError,
        Self::Unreachable,
        Self::Rejected,
        Self::Established,
        Self::Disconnected,
        Self::DeviceRemoval,
        Self::MulticastJoin,
        Self::MulticastError,
        Self::AddressChange,
        Self::TimewaitExit,
    ];
}

/// The parameters of the peer in an event. Data is empty if the peer has sent none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Parameters {
    /// Nothing.
    #[default]
    None,
    /// Data of the program of the peer, with a rejection.
    Data(Vec<u8>),
    /// A connection.
    Connection(ConnectionParameters),
    /// The destination of datagrams.
    Datagram(DatagramParameters),
}

/// The offer of the peer of a connection, seen from this side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionParameters {
    /// Data of the program of the peer.
    pub private_data: Vec<u8>,
    /// Number of reads and atomics that the peer may have in flight, so this side serves them.
    pub responder_resources: u8,
    /// Number of reads and atomics that the peer serves at a time.
    pub initiator_depth: u8,
    /// Not 0 if the peer has flow control.
    pub flow_control: u8,
    /// How often this side shall repeat a packet.
    pub retry_count: u8,
    /// How often this side shall repeat a message for which there is no receive.
    pub rnr_retry_count: u8,
    /// True if the queue pair of the peer has a shared receive queue.
    pub is_shared: bool,
    /// The number of the queue pair of the peer.
    pub number: u32,
}

/// The destination of datagrams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatagramParameters {
    /// Data of the program of the peer.
    pub private_data: Vec<u8>,
    /// The address of the peer, or of the group.
    pub gid: [u8; 16],
    /// The number of the queue pair of the peer; 0xffffff of a group.
    pub number: u32,
    /// The key of the queue pair (Q_Key).
    pub key: u32,
    /// The value that the program gave when it joined the group.
    pub user: u64,
}

impl Terms {
    /// The parameters of an event that reports these terms of the peer.
    pub(super) fn connection(&self) -> ConnectionParameters {
        ConnectionParameters {
            private_data: self.private_data.clone(),
            responder_resources: self.initiator_depth,
            initiator_depth: self.responder_resources,
            flow_control: self.flow_control,
            retry_count: self.retry_count,
            rnr_retry_count: self.rnr_retry_count,
            is_shared: self.is_shared,
            number: self.number,
        }
    }

    /// As [`connection`](Self::connection), for datagrams.
    pub(super) fn datagram(&self) -> DatagramParameters {
        DatagramParameters {
            private_data: self.private_data.clone(),
            gid: self.gid,
            number: self.number,
            key: self.key,
            user: 0,
        }
    }
}

/// An event (rdma_get_cm_event(3)). Dropping it acknowledges it.
pub struct Event {
    pub(super) kind: EventKind,
    pub(super) status: i32,
    pub(super) parameters: Parameters,
    /// The identifier that waits for the acknowledgement.
    pub(super) target: Arc<Identifier>,
    pub(super) request: Option<Arc<Identifier>>,
}

impl Event {
    /// The kind of the event.
    #[must_use]
    pub const fn kind(&self) -> EventKind {
        self.kind
    }

    /// 0, a negative errno, or the reason of a rejection.
    #[must_use]
    pub const fn status(&self) -> i32 {
        self.status
    }

    /// The identifier; of a request, the new one.
    #[must_use]
    pub fn identifier(&self) -> &Arc<Identifier> {
        self.request.as_ref().unwrap_or(&self.target)
    }

    /// The identifier that listens, of a request.
    #[must_use]
    pub fn listener(&self) -> Option<&Arc<Identifier>> {
        self.request.is_some().then_some(&self.target)
    }

    /// The parameters of the peer.
    #[must_use]
    pub const fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The options of the vendor of the peer.
    #[must_use]
    pub fn ece(&self) -> Ece {
        self.identifier().remote_ece()
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.target.acknowledge();
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} (status {})", self.kind, self.status)
    }
}

/// An event that the program has not taken.
pub(super) struct Queued {
    pub(super) kind: EventKind,
    pub(super) status: i32,
    pub(super) parameters: Parameters,
    pub(super) target: Weak<Identifier>,
    pub(super) request: Option<Arc<Identifier>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_numbers_of_the_header() {
        for (number, kind) in EventKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
    }

    #[test]
    fn reads_are_seen_from_the_other_side() {
        let terms = Terms { responder_resources: 3, initiator_depth: 2, ..Terms::default() };
        let seen = terms.connection();
        assert_eq!((seen.responder_resources, seen.initiator_depth), (2, 3));
    }
}
