//! Events, as they come out of C's struct.

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
use crate::dialect;

/// One event.
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
    /// The consumer posted an event itself.
    Software(u64),
}

/// A request for a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrArrival {
    /// Where it arrived.
    pub service_point: ServicePoint,
    /// The connection qualifier that it asked for.
    pub qualifier: u64,
    /// Whether it asks for datagrams.
    pub datagram: bool,
    /// The request, to accept or reject.
    pub request: ConnectionRequest,
}

/// An event of an endpoint for datagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramEvent {
    /// What happened.
    pub kind: DatagramEventKind,
    /// The endpoint.
    pub ep: EndpointId,
    /// Whether the endpoint answered the request of another.
    pub passive: bool,
    /// Where to send to, once established.
    pub remote: Option<DatagramAddress>,
    /// What the other consumer sent with its accept or reject.
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

/// The number of an object that an event names.
pub(crate) fn id(handle: DAT_HANDLE) -> u64 {
    object::number(handle) as u64
}

/// The status of a completion.
pub(crate) fn status(value: DAT_DTO_COMPLETION_STATUS) -> DtoStatus {
    let status = DtoStatus::all().find(|status| status.value() == value);
    status.unwrap_or(DtoStatus::Unknown(value))
}

/// What the library delivered, on a dispatcher of the adapter.
///
/// # Panics
/// When it is no event of the API.
pub(crate) fn read(from: &DAT_EVENT, ia: &Arc<Adapter>) -> Event {
    let data = &from.event_data;
    match from.event_number {
        DAT_DTO_COMPLETION_EVENT => {
            // SAFETY: the data of this number; so below.
            Event::Dto(dialect::completion(unsafe { &data.dto_completion_event_data }))
        }
        DAT_RMR_BIND_COMPLETION_EVENT => {
            // SAFETY: the data of this number.
            bind(unsafe { &data.rmr_completion_event_data })
        }
        DAT_CONNECTION_REQUEST_EVENT => {
            // SAFETY: the data of this number.
            Event::ConnectionRequest(arrival(unsafe { &data.cr_arrival_event_data }, ia, false))
        }
        DAT_SOFTWARE_EVENT => {
            // SAFETY: the data of this number.
            let data = unsafe { &data.software_event_data };
            Event::Software(id(data.pointer))
        }
        number => match ConnectionEventKind::ALL.iter().find(|kind| kind.number() == number) {
            Some(kind) => {
                // SAFETY: the data of this number.
                connection(*kind, unsafe { &data.connect_event_data })
            }
            None => dialect::extension_event(from, ia).unwrap_or_else(|| {
                // SAFETY: the data of all numbers that are left.
                asynchronous(number, unsafe { &data.asynch_error_event_data })
            }),
        },
    }
}

fn bind(from: &DAT_RMR_BIND_COMPLETION_EVENT_DATA) -> Event {
    Event::RmrBind(RmrBindCompletion {
        ep: rmr::bound_on(id(from.rmr_handle)),
        rmr: id(from.rmr_handle),
        // SAFETY: any bits are a number.
        cookie: unsafe { from.user_cookie.as_64 },
        status: status(from.status),
    })
}

/// A request that arrived.
pub(crate) fn arrival(
    from: &DAT_CR_ARRIVAL_EVENT_DATA,
    ia: &Arc<Adapter>,
    datagram: bool,
) -> CrArrival {
    // SAFETY: all members are handles.
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
        other => panic!("{other:#x} is no event number of the API"),
    };
    Event::Async(AsyncError { kind, object: id(from.dat_handle) })
}
