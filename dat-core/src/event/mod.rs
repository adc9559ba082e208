//! Events: what an event dispatcher delivers.

mod async_error;
mod completion;
mod connection;
mod datagram;
mod display;
mod text;

pub use async_error::{AsyncError, AsyncErrorKind};
pub use completion::{DtoCompletion, EpId, RmrBindCompletion};
pub use connection::{ConnectionEvent, ConnectionEventKind};
pub use datagram::{DatagramAddress, DatagramEvent, DatagramEventKind};
pub use text::EventText;

use crate::cr::Cr;
use crate::flags::EvdFlags;
use crate::provider::Completion;
use crate::provider::plain_success::PlainSuccess;
use crate::status::Operation;

/// An event, delivered into storage of the caller (`DAT_EVENT`).
///
/// ```
/// use dat_core::{ConnectionEventKind, Event, Evd};
///
/// /// Handles everything that is queued; returns whether the connection still exists.
/// fn handle(evd: &Evd) -> dat_core::Result<bool> {
///     for event in evd.queued_events() {
///         match event? {
///             Event::Dto(done) => match done.result() {
///                 Ok(length) => println!("cookie {}: {length} bytes", done.cookie),
///                 Err(failure) => eprintln!("{failure}"),
///             },
///             Event::Connection(event) if event.kind == ConnectionEventKind::Established => {}
///             Event::Connection(_) => return Ok(false),
///             other => println!("{other}"), // one line, with what to do about a failure
///         }
///     }
///     Ok(true)
/// }
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// # let flags = dat_core::EvdFlags::SOFTWARE;
/// # let evd = ia.evd_create(&dat_core::EvdOptions::new(4, flags))?;
/// # evd.post_software_event(1)?;
/// # assert!(handle(&evd)?);
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// No event: storage into which none has been delivered.
    #[default]
    None,
    /// An operation completed.
    Dto(DtoCompletion),
    /// A bind completed.
    RmrBind(RmrBindCompletion),
    /// A request for a connection arrived.
    ConnectionRequest(CrArrival),
    /// A connection event.
    Connection(ConnectionEvent),
    /// An event of a datagram attempt.
    Datagram(DatagramEvent),
    /// An asynchronous error, which belongs to no call.
    Async(AsyncError),
    /// An event that the consumer posted, with its value.
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
    /// Becomes the event of a completion, in place. Equivalent to an assignment but cheaper: the
    /// former event usually owns nothing to be dropped.
    #[inline(always)]
    pub(crate) fn complete(&mut self, completion: Completion) {
        if self.owns_something() {
            self.clear();
        }
        let before = std::mem::replace(self, Self::from(completion));
        // It is one of the three variants above, which have nothing to drop.
        let _ = std::mem::ManuallyDrop::new(before);
    }

    /// As [`complete`](Self::complete), for any completion except that of a bind.
    #[inline(always)]
    pub(crate) fn complete_dto(&mut self, completion: DtoCompletion) {
        if self.owns_something() {
            self.clear();
        }
        let before = std::mem::replace(self, Self::Dto(completion));
        // It is one of the variants checked above, which have nothing to drop.
        let _ = std::mem::ManuallyDrop::new(before);
    }

    /// The event in its short form, if it is the completion of an operation that succeeded and fits.
    #[inline]
    pub(crate) fn plain_success(&self) -> Option<PlainSuccess> {
        match self {
            Self::Dto(completion) => completion.plain_success(),
            _ => None,
        }
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

/// The service point on which a request arrived, by number.
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
    /// The service point on which it arrived.
    pub service_point: ServicePoint,
    /// The connection qualifier that was requested.
    pub qualifier: u64,
    /// True if it requests datagrams, and must be accepted on a datagram endpoint.
    pub datagram: bool,
    /// The request, to accept or reject.
    pub request: Cr,
}
