//! Events: what an event dispatcher delivers.

mod async_error;
mod completion;
mod connection;
mod datagram;
mod words;

pub use async_error::{AsyncError, AsyncErrorKind};
pub use completion::{DtoCompletion, EndpointId, RmrBindCompletion};
pub use connection::{ConnectionEvent, ConnectionEventKind};
pub use datagram::{DatagramAddress, DatagramEvent, DatagramEventKind};
pub use words::EventWords;

use crate::cr::ConnectionRequest;
use crate::flags::EvdFlags;
use crate::provider::Completion;
use crate::status::Operation;

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
