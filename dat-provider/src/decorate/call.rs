//! What passes through a layer: objects, and calls and upcalls with their figures.

use std::fmt;

use crate::flags::{Close, Privileges};
use crate::{
    AsyncUpcall, Completion, ConnectRequest, ConnectionUpcall, Notify, Peer, QueuePairLimits,
    ReceiveRequest, RemoteAddress, Request, SharedReceiveLimits, WindowScope, Work,
};

/// A kind of object of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// An open adapter.
    Adapter,
    /// A protection domain.
    Domain,
    /// A completion queue.
    CompletionQueue,
    /// A queue pair.
    QueuePair,
    /// A shared receive queue.
    SharedReceiveQueue,
    /// A listener.
    Listener,
    /// A request for a connection.
    Request,
    /// Registered memory.
    Region,
    /// A memory window.
    Window,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Adapter => "adapter",
            Self::Domain => "domain",
            Self::CompletionQueue => "completion queue",
            Self::QueuePair => "queue pair",
            Self::SharedReceiveQueue => "shared receive queue",
            Self::Listener => "listener",
            Self::Request => "request",
            Self::Region => "region",
            Self::Window => "window",
        })
    }
}

/// An object of an adapter. Queue pairs and windows are numbered by their tags, adapters per
/// process, and all other objects per adapter; these numbers begin at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// Its kind.
    pub kind: Kind,
    /// Its number.
    pub number: u64,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.number)
    }
}

/// A call or an upcall, with the values that hooks need.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Call<'a> {
    /// Opens the adapter.
    Open {
        /// The IA parameters.
        parameters: &'a str,
    },
    /// Creates a protection domain.
    CreateDomain,
    /// Creates a completion queue.
    CreateCompletionQueue {
        /// In completions.
        depth: usize,
    },
    /// Creates a queue pair.
    CreateQueuePair {
        /// Its limits.
        limits: QueuePairLimits,
    },
    /// Creates a shared receive queue.
    CreateSharedReceives {
        /// Its limits.
        limits: SharedReceiveLimits,
    },
    /// Listens.
    Listen {
        /// On this qualifier, or on one of the provider's choice.
        qualifier: Option<u64>,
    },
    /// Registers memory.
    Register {
        /// The length.
        bytes: u64,
        /// What may access it.
        privileges: Privileges,
    },
    /// Ends a registration.
    Deregister,
    /// Creates a memory window.
    CreateWindow {
        /// Where it can be bound.
        scope: WindowScope,
    },
    /// Polls a completion queue.
    Poll {
        /// What the poll returned.
        found: &'a [Completion],
    },
    /// Arms or disarms the upcall of a completion queue.
    Notify {
        /// For which completions.
        mode: Notify,
        /// Whether completions wait already: the result of the call.
        waiting: bool,
    },
    /// Arms the descriptor of a completion queue.
    Watch,
    /// Resizes a queue.
    Resize {
        /// In entries.
        depth: u64,
    },
    /// Posts a receive.
    PostReceive(&'a ReceiveRequest<'a>),
    /// Posts a request.
    PostRequest(&'a Request<'a>),
    /// Posts a datagram.
    PostDatagram {
        /// Its receiver.
        to: &'a RemoteAddress,
        /// The send.
        request: &'a Request<'a>,
    },
    /// Binds a memory window.
    PostBind {
        /// In bytes; 0 unbinds it.
        length: u64,
        /// The cookie of the completion.
        cookie: u64,
    },
    /// Starts a connection attempt.
    Connect(&'a ConnectRequest<'a>),
    /// Data arrived before the attempt had an outcome.
    CommunicationEstablished {
        /// The number of the attempt.
        attempt: u64,
    },
    /// Disconnects.
    Disconnect {
        /// Gracefully or abruptly.
        how: Close,
    },
    /// Makes a disconnected queue pair unconnected.
    Reset,
    /// Changes a queue pair.
    Modify {
        /// Its new limits.
        limits: QueuePairLimits,
    },
    /// Ends all use of a queue pair.
    Retire,
    /// Accepts a request for a connection.
    Accept {
        /// The number of the attempt.
        attempt: u64,
        /// The length of the private data.
        private_data: usize,
    },
    /// Rejects a request for a connection.
    Reject {
        /// The length of the private data.
        private_data: usize,
    },
    /// Arms the low watermark of a shared receive queue.
    ArmLowWatermark {
        /// In receives.
        watermark: u32,
    },
    /// Upcall: a completion arrived.
    CompletionReady,
    /// Upcall: a completion queue overflowed.
    CompletionOverflow,
    /// Upcall: a shared receive queue has fewer receives than its watermark.
    LowWatermark,
    /// Upcall: a peer requests a connection.
    ConnectionRequest {
        /// The peer.
        peer: Peer,
        /// The length of the private data.
        private_data: usize,
    },
    /// Upcall: an event of a connection.
    ConnectionEvent {
        /// The number of the attempt.
        attempt: u64,
        /// The event.
        event: ConnectionUpcall<'a>,
    },
    /// Upcall: an event of the adapter.
    AsyncEvent(AsyncUpcall),
}

impl Call<'_> {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Open { .. } => "open",
            Self::CreateDomain
            | Self::CreateCompletionQueue { .. }
            | Self::CreateQueuePair { .. }
            | Self::CreateSharedReceives { .. }
            | Self::CreateWindow { .. } => "create",
            Self::Listen { .. } => "listen",
            Self::Register { .. } => "register",
            Self::Deregister => "deregister",
            Self::Poll { .. } => "poll",
            Self::Notify { .. } => "notify",
            Self::Watch => "watch",
            Self::Resize { .. } => "resize",
            Self::PostReceive(_) => "post_receive",
            Self::PostRequest(request) => match request.work {
                Work::Send => "post_send",
                Work::SendInvalidate { .. } => "post_send_invalidate",
                Work::RdmaWrite { .. } => "post_rdma_write",
                Work::RdmaWriteImmediate { .. } => "post_rdma_write_immediate",
                Work::RdmaRead { .. } => "post_rdma_read",
                Work::RdmaReadToRmr { .. } => "post_rdma_read_to_rmr",
                Work::FetchAdd { .. } => "post_fetch_add",
                Work::CompareSwap { .. } => "post_compare_swap",
            },
            Self::PostDatagram { .. } => "post_datagram",
            Self::PostBind { .. } => "post_bind",
            Self::Connect(_) => "connect",
            Self::CommunicationEstablished { .. } => "communication_established",
            Self::Disconnect { .. } => "disconnect",
            Self::Reset => "reset",
            Self::Modify { .. } => "modify",
            Self::Retire => "retire",
            Self::Accept { .. } => "accept",
            Self::Reject { .. } => "reject",
            Self::ArmLowWatermark { .. } => "arm_low_watermark",
            Self::CompletionReady => "completion_ready",
            Self::CompletionOverflow => "completion_overflow",
            Self::LowWatermark => "low_watermark_reached",
            Self::ConnectionRequest { .. } => "connection_request",
            Self::ConnectionEvent { .. } => "connection_event",
            Self::AsyncEvent(_) => "async_event",
        }
    }

    /// Whether it posts an operation.
    pub(super) const fn is_post(&self) -> bool {
        matches!(
            self,
            Self::PostReceive(_)
                | Self::PostRequest(_)
                | Self::PostDatagram { .. }
                | Self::PostBind { .. }
        )
    }

    /// Whether it goes from the provider to its user.
    pub(super) const fn is_upcall(&self) -> bool {
        matches!(
            self,
            Self::CompletionReady
                | Self::CompletionOverflow
                | Self::LowWatermark
                | Self::ConnectionRequest { .. }
                | Self::ConnectionEvent { .. }
                | Self::AsyncEvent(_)
        )
    }
}

/// Writes the figures, each as ` key=value`.
impl fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { parameters } => write!(f, " parameters={parameters:?}"),
            Self::CreateCompletionQueue { depth } => write!(f, " depth={depth}"),
            Self::CreateQueuePair { limits } | Self::Modify { limits } => write!(
                f,
                " max_receives={} max_requests={}",
                limits.max_receives, limits.max_requests
            ),
            Self::CreateSharedReceives { limits } => {
                write!(f, " max_receives={}", limits.max_receives)
            }
            Self::Listen { qualifier: Some(qualifier) } => write!(f, " qualifier={qualifier}"),
            Self::Listen { qualifier: None } => f.write_str(" qualifier=any"),
            Self::Register { bytes, privileges } => {
                write!(f, " bytes={bytes} privileges={:#x}", privileges.bits())
            }
            Self::CreateWindow { scope } => write!(f, " scope={scope:?}"),
            Self::Poll { found } => found.iter().try_for_each(|one| {
                write!(f, " [tag={} {:?} cookie={}", one.tag, one.operation, one.cookie)?;
                write!(f, " length={} {}]", one.length, one.status)
            }),
            Self::Notify { mode, waiting } => write!(f, " mode={mode:?} waiting={waiting}"),
            Self::Resize { depth } => write!(f, " depth={depth}"),
            Self::PostReceive(receive) => write!(
                f,
                " cookie={} segments={} bytes={}",
                receive.cookie,
                receive.segments.len(),
                length(receive)
            ),
            Self::PostRequest(request) => write!(
                f,
                " cookie={} segments={} bytes={}",
                request.cookie,
                request.segments.len(),
                request.length
            ),
            Self::PostDatagram { to, request } => write!(
                f,
                " to={to:?} cookie={} segments={} bytes={}",
                request.cookie,
                request.segments.len(),
                request.length
            ),
            Self::PostBind { length, cookie } => write!(f, " cookie={cookie} length={length}"),
            Self::Connect(request) => write!(
                f,
                " attempt={} address={} qualifier={} private_data={}",
                request.attempt,
                request.address,
                request.qualifier,
                request.private_data.len()
            ),
            Self::CommunicationEstablished { attempt } => write!(f, " attempt={attempt}"),
            Self::Disconnect { how } => write!(f, " how={how:?}"),
            Self::Accept { attempt, private_data } => {
                write!(f, " attempt={attempt} private_data={private_data}")
            }
            Self::Reject { private_data } => write!(f, " private_data={private_data}"),
            Self::ArmLowWatermark { watermark } => write!(f, " watermark={watermark}"),
            Self::ConnectionRequest { peer, private_data } => {
                write!(f, " peer={} port={} private_data={private_data}", peer.address, peer.port)
            }
            Self::ConnectionEvent { attempt, event } => {
                write!(f, " attempt={attempt} {}", event_name(event))
            }
            Self::AsyncEvent(AsyncUpcall::QueuePairBroken { tag }) => {
                write!(f, " QueuePairBroken tag={tag}")
            }
            Self::AsyncEvent(event) => write!(f, " {event:?}"),
            Self::CreateDomain
            | Self::Deregister
            | Self::Watch
            | Self::Reset
            | Self::Retire
            | Self::CompletionReady
            | Self::CompletionOverflow
            | Self::LowWatermark => Ok(()),
        }
    }
}

/// Total length of the segments of a receive, in bytes.
pub(super) fn length(receive: &ReceiveRequest<'_>) -> u64 {
    receive.segments.iter().fold(0, |sum, one| sum.saturating_add(one.length))
}

const fn event_name(event: &ConnectionUpcall<'_>) -> &'static str {
    match event {
        ConnectionUpcall::Established { .. } => "Established",
        ConnectionUpcall::Resolved { .. } => "Resolved",
        ConnectionUpcall::PeerRejected { .. } => "PeerRejected",
        ConnectionUpcall::NonPeerRejected => "NonPeerRejected",
        ConnectionUpcall::Unreachable => "Unreachable",
        ConnectionUpcall::TimedOut => "TimedOut",
        ConnectionUpcall::AcceptFailed => "AcceptFailed",
        ConnectionUpcall::Disconnected => "Disconnected",
        ConnectionUpcall::Broken => "Broken",
    }
}
