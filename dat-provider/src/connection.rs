//! Listening, connecting, and the events of connections.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Address, LocalCause, PathCause, QueuePair};
use crate::error::Result;
use crate::flags::Qos;

/// A request to connect.
#[derive(Clone, Copy, Debug)]
pub struct ConnectRequest<'a> {
    /// The number of this attempt on the queue pair; returned in its events.
    pub attempt: u64,
    /// The address of the adapter to connect to.
    pub address: Address,
    /// The connection qualifier to connect to at that address.
    pub qualifier: u64,
    /// Data for the peer's consumer, at most the provider's maximum.
    pub private_data: &'a [u8],
    /// The quality of service, one of those that the provider offers.
    pub qos: Qos,
}

/// The peer of a connection, as far as the transport knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The address of its adapter.
    pub address: Address,
    /// Its port qualifier.
    pub port: u64,
}

/// A destination of datagrams.
#[derive(Clone)]
pub struct RemoteAddress {
    /// The address of the peer's adapter.
    pub address: Address,
    /// The number of the peer's queue pair.
    pub number: u32,
    /// Provider data needed to send to it.
    pub handle: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for RemoteAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.address, self.number)
    }
}

impl PartialEq for RemoteAddress {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address && self.number == other.number
    }
}

impl Eq for RemoteAddress {}

/// Why no consumer saw the request of a connection attempt that failed, or why an accepted one was not completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalCause {
    /// The transport gives no reason.
    #[default]
    Unknown,
    /// The address answered, and nothing listens on the qualifier.
    NoListener,
    /// The other side took the connection of the transport, and closed it before it answered.
    Closed,
    /// The side that connects had ended its attempt when this side accepted it.
    Abandoned,
    /// The two sides speak different versions of the provider's protocol.
    Version,
    /// The two sides have different secrets, or only one of them has a secret.
    Secret,
    /// The process that listens belongs to another user.
    OtherUser,
    /// The frames of the handshake contradict each other.
    Protocol,
    /// No way leads to the address, and it is not of the family of the address that the adapter reports.
    OtherFamily,
    /// The attempt failed on this side: the peer has no part in it.
    Local(LocalCause),
    /// No way leads to the peer, or no answer came from it.
    Path(PathCause),
    /// No way leads to the address, and the provider knows no more.
    Unreachable,
    /// No answer came before the time-out of the attempt expired.
    TimedOut,
}

impl RefusalCause {
    /// The reason and what to do, as sentences; `None` if the reason is unknown.
    #[must_use]
    pub fn text(self) -> Option<Cow<'static, str>> {
        let text = match self {
            Self::Unknown => return None,
            Self::NoListener => {
                "The address answered, and nothing listens on this qualifier there. Start the server first, and compare \
                 the qualifier with that of its service point."
            }
            Self::Closed => {
                "The other side took the connection and closed it without an answer. Look there: its process has ended, or \
                 lacks descriptors or memory (ulimit -n, ulimit -a), or another program listens on the qualifier."
            }
            Self::Abandoned => {
                "The other side had ended its attempt before. Its time-out was too short, or its process has ended: accept \
                 requests sooner, or connect with a longer time-out. Reset the endpoint to accept another request on it."
            }
            Self::Version => {
                "The two sides speak different versions of the provider's protocol. Install the same release on both."
            }
            Self::Secret => {
                "The two sides have different secrets, or only one of them has a secret. Open both adapters with the \
                 parameter secret=FILE and the same content of the file."
            }
            Self::OtherUser => {
                "The process that listens belongs to another user. Run both as one user, or open both adapters with the \
                 parameter users=any."
            }
            Self::Protocol => {
                "The handshake of the other side violates the provider's protocol. Check that a DAT provider listens on \
                 this qualifier, and no other program."
            }
            Self::OtherFamily => {
                "The address of the peer and that of the adapter are of different families, IPv4 and IPv6, and the adapter \
                 may have no address of the peer's family. Connect to another address of the peer, or open an adapter that \
                 has an address of the same family."
            }
            Self::Unreachable => {
                "No way leads to the address. Check the address, the route to it and the link."
            }
            Self::TimedOut => {
                "No answer came before the time-out expired. Check that the other side answers requests, or use a longer \
                 time-out."
            }
            Self::Local(cause) => return Some(cause.to_string().into()),
            Self::Path(cause) => return Some(cause.to_string().into()),
        };
        Some(text.into())
    }
}

/// An event of a connection.
#[derive(Clone, Copy, Debug)]
pub enum ConnectionUpcall<'a> {
    /// The connection is established; operations may be posted.
    Established {
        /// The data that the accepting consumer sent; empty on the accepting side.
        private_data: &'a [u8],
        /// The peer.
        peer: Peer,
        /// The local port qualifier.
        local_port: u64,
    },
    /// For a queue pair that carries datagrams: the peer accepted, or this side accepted it.
    Resolved {
        /// The address to send to.
        remote: &'a RemoteAddress,
        /// The data that the accepting consumer sent; empty on the accepting side.
        private_data: &'a [u8],
    },
    /// The consumer on the other side rejected the request.
    PeerRejected {
        /// The data that it sent with the rejection.
        private_data: &'a [u8],
    },
    /// There is no listener, the backlog is full, or the transport failed.
    NonPeerRejected {
        /// The reason, as far as the provider knows it.
        cause: RefusalCause,
    },
    /// There is no route to the address.
    Unreachable,
    /// The transport's own time-out expired.
    TimedOut,
    /// As `TimedOut` if the cause [is a time-out](PathCause::is_timeout), otherwise as `Unreachable`; the provider
    /// knows why.
    NoPath {
        /// The step that failed.
        cause: PathCause,
    },
    /// An accepted connection could not be completed.
    AcceptFailed {
        /// The reason, as far as the provider knows it.
        cause: RefusalCause,
    },
    /// Either side ended the connection; everything outstanding was flushed.
    Disconnected,
    /// The connection broke on an error; everything outstanding was flushed.
    Broken,
}

impl ConnectionUpcall<'_> {
    /// A refusal of which the provider knows no reason.
    pub const REFUSED: Self = Self::NonPeerRejected { cause: RefusalCause::Unknown };
}

/// Receives the connection events of a queue pair. Every attempt that was started ends with one of
/// the failures, or with `Established` and later one `Disconnected` or `Broken`.
pub trait ConnectionSink: Send + Sync {
    /// An event of the given attempt.
    fn connection_event(&self, attempt: u64, event: ConnectionUpcall<'_>);

    /// A request waits for a receive of the peer, and the queue pair
    /// [limits](crate::verbs::VerbsQueuePair::limit_receive_wait) the time.
    fn receive_awaited(&self, _attempt: u64) {}
}

/// A listening point and its connection qualifier.
pub struct ListenerParts {
    /// The connection qualifier that it listens on.
    pub qualifier: u64,
    /// The listening point.
    pub listener: Box<dyn Listener>,
}

impl fmt::Debug for ListenerParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ListenerParts({})", self.qualifier)
    }
}

/// A listening point; dropping it ends the listening. Requests that arrive later are refused as if
/// there were no listener; those already delivered stay valid.
pub trait Listener: Send + Sync {}

/// Receives the requests that arrive at a listener.
pub trait ListenSink: Send + Sync {
    /// A connection request arrived. Giving it back refuses it, as if there were no listener.
    ///
    /// # Errors
    /// The request itself, if it cannot be delivered.
    fn connection_request(
        &self,
        incoming: IncomingRequest,
    ) -> std::result::Result<(), IncomingRequest>;
}

/// A connection request that waits for its answer.
pub struct IncomingRequest {
    /// The side that requests the connection.
    pub peer: Peer,
    /// True if it requests datagrams; such a request is accepted on a queue pair that carries them.
    pub is_datagram: bool,
    /// The data that the requesting consumer sent.
    pub private_data: Arc<[u8]>,
    /// Answers it.
    pub responder: Box<dyn Responder>,
}

/// Answers a connection request; dropping it refuses the request on behalf of the transport.
pub trait Responder: Send + Sync {
    /// Accepts the request on a queue pair of the same adapter. The outcome is an event of that
    /// queue pair, with the number `attempt`.
    ///
    /// # Errors
    /// The reason why the attempt failed; the request still waits for an answer.
    fn accept(&self, queue_pair: &dyn QueuePair, attempt: u64, private_data: &[u8]) -> Result<()>;

    /// Rejects the request on behalf of the consumer.
    ///
    /// # Errors
    /// The reason why the rejection was not sent; the request is void in any case.
    fn reject(&self, private_data: &[u8]) -> Result<()>;
}

impl fmt::Debug for IncomingRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IncomingRequest({:?})", self.peer)
    }
}
