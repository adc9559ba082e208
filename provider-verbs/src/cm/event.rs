//! Events, as copies.

use std::sync::Arc;

use super::{Channel, Id};
use crate::sys::rdma_cma::{self as sys, rdma_cm_event, rdma_conn_param};
use crate::sys::verbs::ibv_ah_attr;
use crate::verbs::pointer_to_key;

/// What happened (rdma_get_cm_event(3)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    AddressResolved,
    AddressError,
    RouteResolved,
    RouteError,
    ConnectRequest,
    ConnectResponse,
    ConnectError,
    Unreachable,
    Rejected,
    Established,
    Disconnected,
    DeviceRemoval,
    AddressChange,
    TimeWaitExit,
    /// One that this version does not know.
    Unknown(u32),
}

impl EventKind {
    const fn new(value: u32) -> Self {
        match value {
            sys::RDMA_CM_EVENT_ADDR_RESOLVED => Self::AddressResolved,
            sys::RDMA_CM_EVENT_ADDR_ERROR => Self::AddressError,
            sys::RDMA_CM_EVENT_ROUTE_RESOLVED => Self::RouteResolved,
            sys::RDMA_CM_EVENT_ROUTE_ERROR => Self::RouteError,
            sys::RDMA_CM_EVENT_CONNECT_REQUEST => Self::ConnectRequest,
            sys::RDMA_CM_EVENT_CONNECT_RESPONSE => Self::ConnectResponse,
            sys::RDMA_CM_EVENT_CONNECT_ERROR => Self::ConnectError,
            sys::RDMA_CM_EVENT_UNREACHABLE => Self::Unreachable,
            sys::RDMA_CM_EVENT_REJECTED => Self::Rejected,
            sys::RDMA_CM_EVENT_ESTABLISHED => Self::Established,
            sys::RDMA_CM_EVENT_DISCONNECTED => Self::Disconnected,
            sys::RDMA_CM_EVENT_DEVICE_REMOVAL => Self::DeviceRemoval,
            sys::RDMA_CM_EVENT_ADDR_CHANGE => Self::AddressChange,
            sys::RDMA_CM_EVENT_TIMEWAIT_EXIT => Self::TimeWaitExit,
            other => Self::Unknown(other),
        }
    }
}

/// An event, copied and acknowledged.
pub(crate) struct Event {
    pub(crate) kind: EventKind,
    /// The key of the identifier; of a request that of the listening one.
    pub(crate) key: u64,
    /// The identifier that a request brings; destroying it refuses the request.
    pub(crate) request: Option<Id>,
    /// An errno, always positive; of a rejection the reason that the transport gives.
    pub(crate) status: u32,
    /// What the other side sent, padded as the transport does it.
    pub(crate) private_data: Vec<u8>,
    pub(crate) parameters: Parameters,
}

/// What else an event says, by the kind of its identifier.
#[derive(Clone, Copy)]
pub(crate) enum Parameters {
    /// Of a connection: what the other side asks for, seen from this side.
    Connection {
        /// How many RDMA reads and atomics of the other side this one may have to serve.
        responder_resources: u8,
        /// How many it may have outstanding itself.
        initiator_depth: u8,
    },
    /// Of datagrams: where the other side takes them; of meaning once it answered.
    Datagram {
        /// The way there.
        way: ibv_ah_attr,
        /// The number of its queue pair.
        number: u32,
        /// What that takes datagrams by.
        key: u32,
    },
}

/// Copies an event.
///
/// # Safety
/// It must be one of the channel's that is not acknowledged yet.
pub(super) unsafe fn copy(event: &rdma_cm_event, channel: &Arc<Channel>) -> Event {
    let kind = EventKind::new(event.event);
    let is_request = kind == EventKind::ConnectRequest;
    let named = if is_request { event.listen_id } else { event.id };
    // SAFETY: the identifiers of an event live until it is acknowledged.
    let key = pointer_to_key(unsafe { (*named).context });
    // SAFETY: the identifier that a request brings is nobody else's.
    let request = is_request.then(|| unsafe { Id::adopt(event.id, channel) });
    // SAFETY: as above.
    let (private_data, parameters) = unsafe { contents(event) };
    Event { kind, key, request, status: event.status.unsigned_abs(), private_data, parameters }
}

/// Copies the event that a synchronous identifier keeps; the identifier that a request brings
/// is not part of it: rdma_get_request(3) hands that out.
///
/// # Safety
/// It must not be acknowledged yet.
#[cfg_attr(not(test), allow(dead_code, reason = "those of the provider keep none"))]
pub(super) unsafe fn copy_kept(event: &rdma_cm_event) -> Event {
    // SAFETY: the caller answers for it.
    let (private_data, parameters) = unsafe { contents(event) };
    // SAFETY: as above.
    let key = pointer_to_key(unsafe { (*event.id).context });
    let (kind, status) = (EventKind::new(event.event), event.status.unsigned_abs());
    Event { kind, key, request: None, status, private_data, parameters }
}

/// Private data and parameters of an event.
///
/// # Safety
/// It must not be acknowledged yet.
unsafe fn contents(event: &rdma_cm_event) -> (Vec<u8>, Parameters) {
    // SAFETY: the identifier of an event lives until it is acknowledged.
    let space = unsafe { (*event.id).ps };
    if space == sys::RDMA_PS_UDP {
        // SAFETY: events of that port space have this member.
        let ud = unsafe { event.param.ud };
        // SAFETY: the event says where its data are.
        return (
            unsafe { bytes(ud.private_data.cast(), ud.private_data_len) },
            Parameters::Datagram { way: ud.ah_attr, number: ud.qp_num, key: ud.qkey },
        );
    }
    // SAFETY: events of the other port spaces have this member; zeros where it means nothing.
    let conn: rdma_conn_param = unsafe { event.param.conn };
    let parameters = Parameters::Connection {
        responder_resources: conn.responder_resources,
        initiator_depth: conn.initiator_depth,
    };
    // SAFETY: as above.
    (unsafe { bytes(conn.private_data.cast(), conn.private_data_len) }, parameters)
}

/// # Safety
/// There must be that many bytes, unless the pointer is null.
unsafe fn bytes(from: *const u8, length: u8) -> Vec<u8> {
    if from.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller answers for it.
    unsafe { std::slice::from_raw_parts(from, usize::from(length)) }.to_vec()
}
