//! Queue pairs: what endpoints post to.

use std::any::Any;
use std::sync::Arc;

use super::{
    CompletionQueue, ConnectRequest, ConnectionSink, Epoch, Epochs, MemoryRegion, MemoryWindow,
    ProtectionDomain, RemoteAddress, SharedReceiveQueue, unsupported,
};
use crate::Failure;
use crate::error::Result;
use crate::flags::{Close, CompletionFlags, Privileges};
use crate::status::Operation;
use crate::triplet::RmrTriplet;

/// A piece of local memory, checked by the core when it was posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Where it starts.
    pub address: u64,
    /// How many bytes it has.
    pub length: u64,
    /// [`MemoryRegion::local_key`] of the region that it lies in.
    pub key: u32,
}

/// A receive to post.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveRequest<'a> {
    /// Where the message goes, in order.
    pub segments: &'a [Segment],
    /// Comes back in the completion.
    pub cookie: u64,
    /// How it completes; `UNSIGNALLED` is the only flag that a receive has.
    pub flags: CompletionFlags,
    /// When the segments were checked.
    pub checked: Epoch,
}

/// What a request does. The kind takes eight bytes, so that what is beside it is copied as it was
/// stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
#[non_exhaustive]
pub enum Work {
    /// Sends the segments as a message.
    Send,
    /// Sends the segments as a message and makes a window of the peer's invalid.
    SendInvalidate {
        /// The key of the window.
        key: u32,
    },
    /// Writes the segments to the peer's memory.
    RdmaWrite {
        /// Where they go.
        remote: RmrTriplet,
    },
    /// Writes the segments to the peer's memory, then completes a receive of the peer's.
    RdmaWriteImmediate {
        /// Where they go.
        remote: RmrTriplet,
        /// What the receive's completion carries.
        immediate: u32,
    },
    /// Fills the segments from the peer's memory.
    RdmaRead {
        /// Where the bytes come from.
        remote: RmrTriplet,
    },
    /// Fills own memory that is named by a remote key from the peer's memory.
    RdmaReadToRmr {
        /// Where the bytes go.
        local: RmrTriplet,
        /// Where they come from.
        remote: RmrTriplet,
    },
    /// Adds to eight bytes of the peer's memory at once; the segment gets the value before.
    FetchAdd {
        /// What is added, modulo 2^64.
        add: u64,
        /// The eight bytes, aligned to eight.
        remote: RmrTriplet,
    },
    /// Replaces eight bytes of the peer's memory at once if they have a value; the segment gets
    /// the value before.
    CompareSwap {
        /// The value that they must have.
        compare: u64,
        /// The value that they get.
        swap: u64,
        /// The eight bytes, aligned to eight.
        remote: RmrTriplet,
    },
}

impl Work {
    /// The operation that its completion names.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        match self {
            Self::Send | Self::SendInvalidate { .. } => Operation::Send,
            Self::RdmaWrite { .. } => Operation::RdmaWrite,
            Self::RdmaWriteImmediate { .. } => Operation::RdmaWriteImmediate,
            Self::RdmaRead { .. } | Self::RdmaReadToRmr { .. } => Operation::RdmaRead,
            Self::FetchAdd { .. } => Operation::FetchAdd,
            Self::CompareSwap { .. } => Operation::CompareSwap,
        }
    }
}

/// A request to post.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What it does.
    pub work: Work,
    /// The local side, in order.
    pub segments: &'a [Segment],
    /// The bytes of all segments together.
    pub length: u64,
    /// Comes back in the completion.
    pub cookie: u64,
    /// How it completes.
    pub flags: CompletionFlags,
    /// When the segments were checked.
    pub checked: Epoch,
}

/// A bind of a memory window to post.
#[derive(Clone, Copy)]
pub struct BindRequest<'a> {
    /// The window.
    pub window: &'a dyn MemoryWindow,
    /// The region that it opens; of no meaning when `length` is 0.
    pub region: Option<&'a dyn MemoryRegion>,
    /// The first address that it opens.
    pub address: u64,
    /// How many bytes it opens; 0 closes it.
    pub length: u64,
    /// What the peer may do.
    pub privileges: Privileges,
    /// Comes back in the completion.
    pub cookie: u64,
    /// How it completes.
    pub flags: CompletionFlags,
}

impl std::fmt::Debug for BindRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BindRequest")
            .field("address", &self.address)
            .field("length", &self.length)
            .field("privileges", &self.privileges)
            .finish_non_exhaustive()
    }
}

/// What a queue pair carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Service {
    /// A reliable connection with one other queue pair.
    #[default]
    Connection,
    /// Datagrams to and from any number of others, which may be lost.
    Datagram,
}

/// How large a queue pair is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePairLimits {
    /// Receives that may be outstanding.
    pub max_receives: u32,
    /// Requests that may be outstanding.
    pub max_requests: u32,
    /// Segments of one receive.
    pub max_receive_segments: u32,
    /// Segments of one request of any kind.
    pub max_request_segments: u32,
    /// The longest message, in bytes.
    pub max_message_size: u64,
    /// RDMA reads of the peer that may be outstanding.
    pub max_reads_in: u32,
    /// RDMA reads to the peer that may be outstanding.
    pub max_reads_out: u32,
}

/// What a queue pair is made from.
#[derive(Clone)]
pub struct QueuePairSpec {
    /// Comes back in its completions and asynchronous events.
    pub tag: u64,
    /// What it carries.
    pub service: Service,
    /// The domain whose memory it can reach. Absent only before the consumer of a
    /// provider-made endpoint chose one; nothing is posted and nothing connects until then.
    pub domain: Option<Arc<dyn ProtectionDomain>>,
    /// Where requests complete; absent when the consumer isn't interested: the completions
    /// are then dropped and their room used again.
    pub request_queue: Option<Arc<dyn CompletionQueue>>,
    /// Where receives complete; absent as above.
    pub receive_queue: Option<Arc<dyn CompletionQueue>>,
    /// Where receives are taken from, instead of its own queue.
    pub shared_receives: Option<Arc<dyn SharedReceiveQueue>>,
    /// How large it is.
    pub limits: QueuePairLimits,
    /// Tells how long the checks of what is posted here hold.
    pub epochs: Arc<Epochs>,
    /// Where it reports connection events.
    pub sink: Arc<dyn ConnectionSink>,
}

impl std::fmt::Debug for QueuePairSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueuePairSpec")
            .field("tag", &self.tag)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// What was posted and has not completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outstanding {
    /// Receives; those taken from a shared queue count from then on.
    pub receives: u32,
    /// Requests.
    pub requests: u32,
}

/// The bytes that a received datagram has before its message (the global route header).
pub const DATAGRAM_PREFIX: u64 = 40;

/// A queue pair with a reliable connection, or one that carries datagrams: that one is never
/// connected, its attempts end with `Resolved` or a failure, and several may be under way.
///
/// Its life: made unconnected; then connecting, by [`QueuePair::connect`] or
/// [`Incoming::accept`](super::Incoming::accept); connected; and disconnected, by any failure
/// or end of the connection. Disconnected, what is posted completes at once as flushed. Only
/// [`QueuePair::reset`] leads back.
pub trait QueuePair: Send + Sync {
    /// Itself, so that the provider finds its own type again.
    fn as_any(&self) -> &dyn Any;

    /// Posts a receive, in every state.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` when `max_receives` are outstanding.
    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()>;

    /// Posts a request, while connected or disconnected.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` when `max_requests` are outstanding.
    fn post_request(&self, request: &Request<'_>) -> Result<()>;

    /// Posts a datagram, on a queue pair that carries them. The receive that it completes has
    /// [`DATAGRAM_PREFIX`] bytes of the transport's before the message.
    ///
    /// # Errors
    /// As [`QueuePair::post_request`]; `DAT_MODEL_NOT_SUPPORTED` where there are none (the
    /// default).
    fn post_datagram(&self, _to: &RemoteAddress, _request: &Request<'_>) -> Result<()> {
        Err(unsupported("datagrams"))
    }

    /// Posts a bind and returns the new key of the window; the old one is invalid when the
    /// bind completes. Later requests do not start before it.
    ///
    /// # Errors
    /// As [`QueuePair::post_request`]; `DAT_MODEL_NOT_SUPPORTED` where there are no windows
    /// (the default).
    fn post_bind(&self, _bind: &BindRequest<'_>) -> Result<u32> {
        Err(unsupported("memory window, which a remote memory region needs"))
    }

    /// Starts to connect. The outcome comes as an event, possibly before this returns.
    ///
    /// # Errors
    /// What kept it from starting; the queue pair is then as before and no event comes.
    fn connect(&self, request: &ConnectRequest<'_>) -> Result<()>;

    /// The port qualifier of the attempt to connect that is under way: what the peer's request
    /// names as [`Peer::port`](super::Peer::port). `Established` tells it again. None while there
    /// is no attempt, or where the transport chooses later (the default).
    fn connecting_port(&self) -> Option<u64> {
        None
    }

    /// A receive completed while the attempt of that number was pending: the peer considers the
    /// connection established. A transport that learns this from the data may report `Established`
    /// inside this call, at once and instead of later. The core holds the completion back until
    /// `Established` is reported, whether or not it is here (the default does nothing). Called with
    /// no lock of the core's held, perhaps late: for an attempt that is not pending any more it does
    /// nothing.
    fn communication_established(&self, _attempt: u64) {}

    /// Ends the connection or the attempt. Gracefully, requests posted before finish first.
    /// What is outstanding is flushed, then `Disconnected` is reported on both sides; an
    /// attempt ends with no event on this side. Disconnected already, nothing happens.
    fn disconnect(&self, how: Close);

    /// Makes a disconnected queue pair unconnected again; completions that were not polled stay.
    ///
    /// # Errors
    /// What the device said.
    fn reset(&self) -> Result<()>;

    /// Gives an unconnected queue pair another specification; receives posted before stay.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` when the device has none that large; nothing is changed.
    fn modify(&self, spec: QueuePairSpec) -> Result<()>;

    /// How much is outstanding: posted, and not completed.
    fn outstanding(&self) -> Outstanding;

    /// The first operation that failed, and was not flushed, since the queue pair was made or reset;
    /// known as soon as its completion was polled. None where there was none, or where the provider
    /// keeps none (the default).
    fn failure(&self) -> Option<Failure> {
        None
    }

    /// Ends all use: as an abrupt disconnect, without any further event. What is posted later
    /// is refused or flushed. The core calls this before it lets go of the queue pair, at the
    /// latest.
    fn retire(&self);
}
