//! Listening, connecting, and the events of connections.

use std::any::Any;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use super::QueuePair;
use crate::error::Result;
use crate::flags::Qos;

/// What a connection is asked for.
#[derive(Clone, Copy, Debug)]
pub struct ConnectRequest<'a> {
    /// Which attempt of the queue pair it is; comes back in its events.
    pub attempt: u64,
    /// The adapter to reach.
    pub address: IpAddr,
    /// The connection qualifier to reach there.
    pub qualifier: u64,
    /// Data for the other consumer, within the provider's maximum.
    pub private_data: &'a [u8],
    /// The quality of service, one that the provider offers.
    pub qos: Qos,
}

/// The other end of a connection, as far as the transport tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its adapter's address.
    pub address: IpAddr,
    /// Its port qualifier.
    pub port: u64,
}

/// Where datagrams can be sent to.
#[derive(Clone)]
pub struct RemoteAddress {
    /// The other adapter's address.
    pub address: IpAddr,
    /// The number of the other queue pair.
    pub number: u32,
    /// What the provider needs to send there.
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

/// An event of a connection.
#[derive(Clone, Copy, Debug)]
pub enum ConnectionUpcall<'a> {
    /// The connection stands; operations may be posted.
    Established {
        /// What the accepting consumer sent; empty on the accepting side.
        private_data: &'a [u8],
        /// The other end.
        peer: Peer,
        /// The local port qualifier.
        local_port: u64,
    },
    /// Of a queue pair that carries datagrams: the other side accepted, or was accepted.
    Resolved {
        /// Where to send to.
        remote: &'a RemoteAddress,
        /// What the accepting consumer sent; empty on the accepting side.
        private_data: &'a [u8],
    },
    /// The other consumer refused.
    PeerRejected {
        /// What it sent with the refusal.
        private_data: &'a [u8],
    },
    /// Nobody listens, the backlog is full, or the transport failed.
    NonPeerRejected,
    /// There is no way to the address.
    Unreachable,
    /// The transport's own time ran out.
    TimedOut,
    /// An accepted connection could not be completed.
    AcceptFailed,
    /// The connection was ended by either side; everything outstanding was flushed.
    Disconnected,
    /// The connection broke on an error; everything outstanding was flushed.
    Broken,
}

/// Where a queue pair reports the events of its connection. Every attempt that was started
/// ends with one of the failures, or with `Established` and later one `Disconnected` or
/// `Broken`.
pub trait ConnectionSink: Send + Sync {
    /// Something happened to the connection of that attempt.
    fn connection_event(&self, attempt: u64, event: ConnectionUpcall<'_>);
}

/// Something that listens; dropping it stops that. Requests that arrive later are refused as
/// if nobody had listened, those handed out before stay valid.
pub trait Listener: Send + Sync {
    /// The connection qualifier that it listens on.
    fn qualifier(&self) -> u64;
}

/// Where a listener reports.
pub trait ListenSink: Send + Sync {
    /// A request for a connection arrived. Giving it back refuses it, as when nobody listens.
    ///
    /// # Errors
    /// The request itself, when it can't be delivered.
    fn connection_request(
        &self,
        incoming: Box<dyn Incoming>,
    ) -> std::result::Result<(), Box<dyn Incoming>>;
}

/// A request for a connection that waits for its answer; dropping it refuses it as the
/// transport would.
pub trait Incoming: Send + Sync {
    /// Itself, so that the provider finds its own type again.
    fn as_any(&self) -> &dyn Any;

    /// Who asks.
    fn peer(&self) -> Peer;

    /// Whether it asks for datagrams; such a one is accepted on a queue pair that carries them.
    fn is_datagram(&self) -> bool {
        false
    }

    /// What the asking consumer sent.
    fn private_data(&self) -> &[u8];

    /// Accepts it on a queue pair of the same adapter. The outcome comes as an event of that
    /// queue pair, under `attempt`.
    ///
    /// # Errors
    /// What kept it from being tried; the request then still waits.
    fn accept(&self, queue_pair: &dyn QueuePair, attempt: u64, private_data: &[u8]) -> Result<()>;

    /// Refuses it on behalf of the consumer.
    ///
    /// # Errors
    /// What kept the refusal from being sent; the request is void all the same.
    fn reject(&self, private_data: &[u8]) -> Result<()>;
}

impl fmt::Debug for dyn Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Incoming({:?})", self.peer())
    }
}
