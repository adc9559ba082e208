//! Conversion of events from the struct of C.

use std::sync::Arc;

use real::flags::EvdFlags;
use real::{
    AsyncError, AsyncErrorKind, ConnectionEvent, ConnectionEventKind, DatagramEventKind,
    DtoCompletion, DtoStatus, EndpointId, ObjectKind, RmrBindCompletion, ServicePoint,
};

use super::adapter::Adapter;
use super::cr::private_data;
use super::datagram::DatagramAddress;
use super::{ConnectionRequest, object, rmr, service_point};
use crate::abi::*;
use crate::version;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// No event.
    #[default]
    None,
    /// A data transfer operation completed.
    Dto(DtoCompletion),
    /// A bind completed.
    RmrBind(RmrBindCompletion),
    /// A connection request arrived.
    ConnectionRequest(CrArrival),
    /// A connection event.
    Connection(ConnectionEvent),
    /// An event of a datagram endpoint.
    Datagram(DatagramEvent),
    /// An asynchronous error.
    Async(AsyncError),
    /// A software event with the value that the consumer posted.
    Software(u64),
}

/// The arrival of a connection request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrArrival {
    /// The service point at which it arrived.
    pub service_point: ServicePoint,
    /// The connection qualifier of the service point.
    pub qualifier: u64,
    /// Whether the requester is a datagram endpoint.
    pub datagram: bool,
    /// The request, to accept or reject.
    pub request: ConnectionRequest,
}

/// An event of a datagram endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramEvent {
    /// The kind of event.
    pub kind: DatagramEventKind,
    /// The endpoint.
    pub ep: EndpointId,
    /// Whether the endpoint is the passive side.
    pub passive: bool,
    /// The address of the peer, once established.
    pub remote: Option<DatagramAddress>,
    /// The private data of the peer's accept or reject.
    pub private_data: Arc<[u8]>,
}

impl Event {
    /// The event number of the C API; 0 for none.
    #[must_use]
    pub fn number(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::Dto(_) => DAT_DTO_COMPLETION_EVENT,
            Self::RmrBind(_) => DAT_RMR_BIND_COMPLETION_EVENT,
            Self::ConnectionRequest(_) => DAT_CONNECTION_REQUEST_EVENT,
            Self::Datagram(event) => event.kind.number(),
            Self::Connection(event) => event.kind.number(),
            Self::Async(error) => error.kind.number(),
            Self::Software(_) => DAT_SOFTWARE_EVENT,
        }
    }

    /// The stream that the event belongs to.
    #[must_use]
    pub const fn stream(&self) -> EvdFlags {
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

/// The handle value of an object that an event names.
pub(crate) fn id(handle: DAT_HANDLE) -> u64 {
    object::number(handle) as u64
}

/// Converts the status of a completion.
pub(crate) fn status(value: DAT_DTO_COMPLETION_STATUS) -> DtoStatus {
    let status = DtoStatus::all().find(|status| status.value() == value);
    status.unwrap_or(DtoStatus::Unknown(value))
}

/// Converts an event that the library delivered on a dispatcher of the adapter.
///
/// # Panics
/// If DAT does not define the event number.
pub(crate) fn read(from: &DAT_EVENT, ia: &Arc<Adapter>) -> Event {
    let data = &from.event_data;
    match from.event_number {
        DAT_DTO_COMPLETION_EVENT => {
            // SAFETY: the event number says which member of the union is set.
            Event::Dto(version::completion(unsafe { &data.dto_completion_event_data }))
        }
        DAT_RMR_BIND_COMPLETION_EVENT => {
            // SAFETY: the event number says which member of the union is set.
            bind(unsafe { &data.rmr_completion_event_data })
        }
        DAT_CONNECTION_REQUEST_EVENT => {
            // SAFETY: the event number says which member of the union is set.
            Event::ConnectionRequest(arrival(unsafe { &data.cr_arrival_event_data }, ia, false))
        }
        DAT_SOFTWARE_EVENT => {
            // SAFETY: the event number says which member of the union is set.
            let data = unsafe { &data.software_event_data };
            Event::Software(id(data.pointer))
        }
        number => match ConnectionEventKind::ALL.iter().find(|kind| kind.number() == number) {
            Some(kind) => {
                // SAFETY: the event number says which member of the union is set.
                connection(*kind, unsafe { &data.connect_event_data })
            }
            None => version::extension_event(from, ia).unwrap_or_else(|| {
                // SAFETY: the remaining event numbers all have this member of the union.
                asynchronous(number, unsafe { &data.asynch_error_event_data })
            }),
        },
    }
}

fn bind(from: &DAT_RMR_BIND_COMPLETION_EVENT_DATA) -> Event {
    Event::RmrBind(RmrBindCompletion {
        ep: rmr::bound_on(id(from.rmr_handle)),
        rmr: id(from.rmr_handle),
        // SAFETY: every bit pattern is a valid integer.
        cookie: unsafe { from.user_cookie.as_64 },
        status: status(from.status),
    })
}

/// Converts the arrival of a request.
pub(crate) fn arrival(
    from: &DAT_CR_ARRIVAL_EVENT_DATA,
    ia: &Arc<Adapter>,
    datagram: bool,
) -> CrArrival {
    // SAFETY: all members of the union are handles.
    let point = unsafe { from.sp_handle.psp_handle };
    CrArrival {
        service_point: service_point::of_handle(point),
        qualifier: from.conn_qual,
        datagram,
        request: ConnectionRequest::arrived(from.cr_handle, ia),
    }
}

fn connection(kind: ConnectionEventKind, from: &DAT_CONNECTION_EVENT_DATA) -> Event {
    let private_data = private_data(from.private_data_size, from.private_data);
    Event::Connection(ConnectionEvent { kind, ep: id(from.ep_handle), private_data })
}

fn asynchronous(number: DAT_EVENT_NUMBER, from: &DAT_ASYNCH_ERROR_EVENT_DATA) -> Event {
    let reason = from.reason as u32;
    let kind = match number {
        DAT_ASYNC_ERROR_EVD_OVERFLOW => AsyncErrorKind::EvdOverflow,
        DAT_ASYNC_ERROR_IA_CATASTROPHIC => AsyncErrorKind::IaCatastrophic,
        DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR => AsyncErrorKind::ProviderInternal,
        DAT_ASYNC_ERROR_EP_BROKEN => match object::kind_of(from.dat_handle) {
            Ok(ObjectKind::Srq) if reason == DAT_SRQ_LOW_WATERMARK_EVENT => {
                AsyncErrorKind::SrqLowWatermark
            }
            Ok(ObjectKind::Ep) if reason == DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT => {
                AsyncErrorKind::EpSoftHighWatermark
            }
            _ => AsyncErrorKind::EpBroken,
        },
        other => panic!("{other:#x} is not an event number of DAT"),
    };
    Event::Async(AsyncError { kind, object: id(from.dat_handle) })
}
