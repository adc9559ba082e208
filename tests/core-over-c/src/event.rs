//! Events.

use std::sync::Arc;

use real::flags::EvdFlags;
use real::{
    AsyncError, ConnectionEvent, DatagramEventKind, DtoCompletion, EpId, RmrBindCompletion,
    ServicePoint,
};

use super::adapter::Adapter;
use super::cr::Cr;
use super::datagram::DatagramAddress;
use super::service_point;
use crate::abi::*;

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
    /// True if the requester is a datagram endpoint.
    pub datagram: bool,
    /// The request, to accept or reject.
    pub request: Cr,
}

/// An event of a datagram endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramEvent {
    /// The kind of event.
    pub kind: DatagramEventKind,
    /// The endpoint.
    pub ep: EpId,
    /// True if the endpoint is the passive side.
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

impl CrArrival {
    /// Converts the arrival of a request.
    pub(crate) fn read(
        from: &DAT_CR_ARRIVAL_EVENT_DATA,
        ia: &Arc<Adapter>,
        datagram: bool,
    ) -> Self {
        // SAFETY: all members of the union are handles.
        let point = unsafe { from.sp_handle.psp_handle };
        Self {
            service_point: service_point::of_handle(point),
            qualifier: from.conn_qual,
            datagram,
            request: Cr::arrived(from.cr_handle, ia),
        }
    }
}
