//! Events: what an event dispatcher delivers.

mod words;

pub use words::EventWords;

use std::sync::Arc;

use crate::cr::ConnectionRequest;
use crate::ep::DatagramAddress;
use crate::flags::EvdFlags;
use crate::provider::Completion;
use crate::status::{DtoStatus, Operation};

/// The number of an endpoint, as events name it ([`Endpoint::id`](crate::Endpoint::id), or
/// the tag that its maker gave it).
pub type EndpointId = u64;

/// One event, delivered into storage of the caller's (`DAT_EVENT`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Storage that no event was delivered into yet.
    #[default]
    None,
    /// An operation completed.
    Dto(DtoCompletion),
    /// A bind completed.
    RmrBind(RmrBindCompletion),
    /// A request for a connection arrived.
    ConnectionRequest(CrArrival),
    /// Something happened to a connection.
    Connection(ConnectionEvent),
    /// Something happened to an attempt of an endpoint for datagrams.
    Datagram(DatagramEvent),
    /// Something happened to an object outside any call.
    Async(AsyncError),
    /// The consumer posted an event itself; the value is its own.
    Software(u64),
}

impl Event {
    /// The event number of the C API (`DAT_EVENT_NUMBER`); 0 for none.
    #[must_use]
    pub fn number(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::Dto(_) => 0x0_0001,
            Self::RmrBind(_) => 0x0_1001,
            Self::ConnectionRequest(arrival) if arrival.datagram => 0x4_0001,
            Self::ConnectionRequest(_) => 0x0_2001,
            Self::Datagram(event) => event.kind.number(),
            Self::Connection(event) => event.kind.number(),
            Self::Async(error) => error.kind.number(),
            Self::Software(_) => 0x1_0001,
        }
    }

    /// The stream that the event belongs to.
    #[must_use]
    pub fn stream(&self) -> EvdFlags {
        match self {
            Self::None => EvdFlags::empty(),
            Self::Dto(_) => EvdFlags::DTO,
            Self::RmrBind(_) => EvdFlags::RMR_BIND,
            Self::ConnectionRequest(_) => EvdFlags::CONNECTION_REQUEST,
            Self::Connection(_) | Self::Datagram(_) => EvdFlags::CONNECTION,
            Self::Async(_) => EvdFlags::ASYNC,
            Self::Software(_) => EvdFlags::SOFTWARE,
        }
    }
}

impl Event {
    /// Becomes the event of a completion, in place. It is what an assignment does, and mostly
    /// less: what was there before mostly owns nothing.
    #[inline(always)]
    pub(crate) fn complete(&mut self, completion: Completion) {
        if self.owns_something() {
            self.clear();
        }
        let before = std::mem::replace(self, Self::from(completion));
        // It is one of the three, and has nothing to drop.
        let _ = std::mem::ManuallyDrop::new(before);
    }

    /// As [`complete`](Self::complete), with what is no bind.
    #[inline(always)]
    pub(crate) fn complete_dto(&mut self, completion: DtoCompletion) {
        if self.owns_something() {
            self.clear();
        }
        let before = std::mem::replace(self, Self::Dto(completion));
        // As above.
        let _ = std::mem::ManuallyDrop::new(before);
    }

    #[inline(always)]
    const fn owns_something(&self) -> bool {
        !matches!(self, Self::None | Self::Dto(_) | Self::RmrBind(_))
    }

    #[cold]
    fn clear(&mut self) {
        *self = Self::None;
    }
}

impl From<Completion> for Event {
    #[inline]
    fn from(completion: Completion) -> Self {
        match completion.operation {
            Operation::Bind => Self::RmrBind(RmrBindCompletion {
                ep: completion.tag,
                rmr: completion.extra,
                cookie: completion.cookie,
                status: completion.status,
            }),
            _ => Self::Dto(completion.into()),
        }
    }
}

impl From<Completion> for DtoCompletion {
    /// That of anything but a bind.
    #[inline(always)]
    fn from(completion: Completion) -> Self {
        let Completion { tag: ep, cookie, length, extra, operation, status } = completion;
        Self { ep, cookie, length, operation, status, extra: extra as u32 }
    }
}

/// A completed send, receive or RDMA operation (`DAT_DTO_COMPLETION_EVENT_DATA`).
// In this order endpoint and cookie are not side by side, as they were just stored in a `Success`:
// both would be read at once then, and a processor can't forward two stores to one load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct DtoCompletion {
    /// The endpoint that it was posted on, or that took it from a shared receive queue.
    pub ep: EndpointId,
    /// Bytes moved; of meaning for a success only.
    pub length: u64,
    /// The cookie of the post.
    pub cookie: u64,
    /// What completed.
    pub operation: Operation,
    /// How it ended.
    pub status: DtoStatus,
    /// What more the operation gives; see [`invalidated`](Self::invalidated) and
    /// [`immediate`](Self::immediate).
    pub extra: u32,
}

impl DtoCompletion {
    /// The context that a receive with invalidate made invalid.
    #[must_use]
    pub fn invalidated(&self) -> Option<u32> {
        (self.operation == Operation::ReceiveWithInvalidate).then_some(self.extra)
    }

    /// The immediate data that a receive got.
    #[must_use]
    pub fn immediate(&self) -> Option<u32> {
        (self.operation == Operation::ReceiveImmediate).then_some(self.extra)
    }
}

/// A completed bind (`DAT_RMR_BIND_COMPLETION_EVENT_DATA`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RmrBindCompletion {
    /// The endpoint that the bind was posted on.
    pub ep: EndpointId,
    /// The number of the remote memory region.
    pub rmr: u64,
    /// The cookie of the bind.
    pub cookie: u64,
    /// How it ended.
    pub status: DtoStatus,
}

/// The number of the service point that a request arrived on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServicePoint {
    /// A public one.
    Public(u64),
    /// A reserved one.
    Reserved(u64),
    /// A common one.
    Common(u64),
}

/// A request for a connection (`DAT_CR_ARRIVAL_EVENT_DATA`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrArrival {
    /// Where it arrived.
    pub service_point: ServicePoint,
    /// The connection qualifier that it asked for.
    pub qualifier: u64,
    /// Whether it asks for datagrams, to be accepted on an endpoint that carries them.
    pub datagram: bool,
    /// The request, to accept or reject.
    pub request: ConnectionRequest,
}

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
    /// What the other consumer sent with its accept or reject; else empty.
    pub private_data: Arc<[u8]>,
}

/// What an asynchronous error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AsyncErrorKind {
    /// An event dispatcher had no room for an event.
    EvdOverflow,
    /// The adapter is of no use any more.
    IaCatastrophic,
    /// An endpoint broke.
    EpBroken,
    /// The provider failed in itself.
    ProviderInternal,
    /// A shared receive queue fell below its low watermark.
    SrqLowWatermark,
    /// More receives are at an endpoint than its soft high watermark.
    EpSoftHighWatermark,
}

impl AsyncErrorKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::EvdOverflow,
        Self::IaCatastrophic,
        Self::EpBroken,
        Self::ProviderInternal,
        Self::SrqLowWatermark,
        Self::EpSoftHighWatermark,
    ];

    /// The name of the event number in the C headers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EvdOverflow => "DAT_ASYNC_ERROR_EVD_OVERFLOW",
            Self::IaCatastrophic => "DAT_ASYNC_ERROR_IA_CATASTROPHIC",
            Self::EpBroken | Self::SrqLowWatermark | Self::EpSoftHighWatermark => {
                "DAT_ASYNC_ERROR_EP_BROKEN"
            }
            Self::ProviderInternal => "DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR",
        }
    }

    /// The event number of the C API. The watermarks have none of their own: they are
    /// reported with the number of a broken endpoint and a reason (`DAT_SRQ_LOW_WATERMARK_EVENT`,
    /// `DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT`).
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::EvdOverflow => 0x8001,
            Self::IaCatastrophic => 0x8002,
            Self::EpBroken | Self::SrqLowWatermark | Self::EpSoftHighWatermark => 0x8003,
            Self::ProviderInternal => 0x8005,
        }
    }
}

/// An asynchronous error (`DAT_ASYNCH_ERROR_EVENT_DATA`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncError {
    /// What it is about.
    pub kind: AsyncErrorKind,
    /// The number of the object; for an endpoint, its number in events.
    pub object: u64,
}
