//! Events: copies of those of the library.

use std::fmt;
use std::sync::Arc;

use super::{CmId, EventChannel};
use crate::sys::rdma_cma::{self as sys, rdma_cm_event, rdma_conn_param};
use crate::sys::verbs::IBV_QPT_UD;
use crate::verbs::{AddressVector, field, pointer_to_key};
use crate::{Error, ErrorObject, Result};

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $value:ident $text:literal,)*) => {
        /// The kind of an event (rdma_get_cm_event(3)).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum EventKind {
            $($(#[$doc])* $name,)*
            /// A kind that this version does not know.
            Unknown(u32),
        }

        impl EventKind {
            const fn new(value: u32) -> Self {
                match value {
                    $(sys::$value => Self::$name,)*
                    other => Self::Unknown(other),
                }
            }
        }

        impl fmt::Display for EventKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name => f.write_str($text),)*
                    Self::Unknown(value) => write!(f, "event {value}"),
                }
            }
        }
    };
}

kinds! {
    /// The address was resolved, and the identifier bound to a device.
    AddressResolved = RDMA_CM_EVENT_ADDR_RESOLVED "address resolved",
    /// The address was not resolved.
    AddressError = RDMA_CM_EVENT_ADDR_ERROR "address resolution failed",
    /// The route was resolved.
    RouteResolved = RDMA_CM_EVENT_ROUTE_RESOLVED "route resolved",
    /// The route was not resolved.
    RouteError = RDMA_CM_EVENT_ROUTE_ERROR "route resolution failed",
    /// A peer requests a connection from a listening identifier.
    ConnectRequest = RDMA_CM_EVENT_CONNECT_REQUEST "connection request",
    /// The peer accepted, and this side must [establish](CmId::establish) the connection.
    ConnectResponse = RDMA_CM_EVENT_CONNECT_RESPONSE "connection response",
    /// The connection could not be established.
    ConnectError = RDMA_CM_EVENT_CONNECT_ERROR "connection failed",
    /// The peer does not answer.
    Unreachable = RDMA_CM_EVENT_UNREACHABLE "peer unreachable",
    /// The peer rejected the request.
    Rejected = RDMA_CM_EVENT_REJECTED "request rejected",
    /// The connection is established.
    Established = RDMA_CM_EVENT_ESTABLISHED "established",
    /// The connection ended.
    Disconnected = RDMA_CM_EVENT_DISCONNECTED "disconnected",
    /// The device was removed; the identifier must be dropped.
    DeviceRemoval = RDMA_CM_EVENT_DEVICE_REMOVAL "device removed",
    /// The multicast group was joined.
    MulticastJoin = RDMA_CM_EVENT_MULTICAST_JOIN "multicast group joined",
    /// The multicast group could not be joined, or was lost.
    MulticastError = RDMA_CM_EVENT_MULTICAST_ERROR "multicast join failed",
    /// The network device of the address changed.
    AddressChange = RDMA_CM_EVENT_ADDR_CHANGE "address changed",
    /// The queue pair's number can be used again.
    TimeWaitExit = RDMA_CM_EVENT_TIMEWAIT_EXIT "time-wait ended",
}

/// An event, copied and acknowledged.
#[derive(Debug)]
#[non_exhaustive]
pub struct Event {
    /// Its kind.
    pub kind: EventKind,
    /// The key of the identifier; for a request, that of the listening identifier.
    pub key: u64,
    /// The identifier of an arriving request; dropping it rejects the request.
    pub request: Option<CmId>,
    /// An errno, always positive; for a rejection, the reason that the transport gives. For an
    /// identifier of datagrams that is [unreachable](EventKind::Unreachable), up to 5, the status of
    /// the peer's answer.
    pub status: u32,
    /// The private data of the peer, padded with zeros by some transports.
    pub private_data: Vec<u8>,
    /// Further contents of the event.
    pub parameters: Parameters,
    /// For a multicast event, the key with which the group was joined.
    pub multicast_key: Option<u64>,
}

/// Further contents of an event, depending on the service of its identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// For a connection: the peer's parameters, seen from this side.
    Connection {
        /// Number of the peer's RDMA reads and atomics that this side may have to serve.
        responder_resources: u8,
        /// Number of RDMA reads and atomics that this side may have in flight.
        initiator_depth: u8,
        /// True if the peer has hardware flow control.
        flow_control: bool,
        /// Number of retries without an acknowledgement; only in requests.
        retry_count: u8,
        /// Number of retries while there is no receive.
        rnr_retry_count: u8,
        /// True if the peer's queue pair has a shared receive queue.
        shared_receive: bool,
        /// The number of the peer's queue pair.
        queue_pair: u32,
    },
    /// For datagrams: the peer's address; in established and multicast events.
    Datagram {
        /// The address of its port.
        address: AddressVector,
        /// The number of its queue pair.
        queue_pair: u32,
        /// The queue key with which it accepts datagrams.
        queue_key: u32,
    },
}

/// The last status with which a peer answers a request for the address of datagrams
/// (`IB_SIDR_UNSUPPORTED_VERSION`).
const LAST_ANSWER: u32 = 5;

impl Event {
    /// Returns an error if the event reports a failure.
    ///
    /// # Errors
    /// The errno of the event; `ECONNREFUSED` for a rejection. `ETIMEDOUT` of `rdma_connect`: the
    /// peer neither accepted nor rejected the request.
    pub fn outcome(&self) -> Result<()> {
        let status = i32::try_from(self.status).unwrap_or(libc::EPROTO);
        let (call, errno) = match self.kind {
            EventKind::AddressError => ("rdma_resolve_addr", status),
            EventKind::RouteError => ("rdma_resolve_route", status),
            // A status of the service ID resolution protocol, and not an errno.
            EventKind::Unreachable
                if self.status <= LAST_ANSWER
                    && matches!(self.parameters, Parameters::Datagram { .. }) =>
            {
                ("rdma_connect", libc::ECONNREFUSED)
            }
            EventKind::ConnectError | EventKind::Unreachable => ("rdma_connect", status),
            EventKind::Rejected => ("rdma_connect", libc::ECONNREFUSED),
            EventKind::MulticastError => ("rdma_join_multicast", status),
            EventKind::DeviceRemoval => ("rdma_get_cm_event", libc::ENODEV),
            _ => return Ok(()),
        };
        Err(Error::new(call, errno).on(ErrorObject::Identifier(self.key)))
    }
}

/// Copies an event.
///
/// # Safety
/// The event must come from the channel and not be acknowledged yet: until then its identifiers
/// live.
pub(super) unsafe fn copy(event: &rdma_cm_event, channel: &Arc<EventChannel>) -> Event {
    let is_request = event.event == sys::RDMA_CM_EVENT_CONNECT_REQUEST;
    let named = if is_request { event.listen_id } else { event.id };
    let key = pointer_to_key(field!(named, context));
    // SAFETY: the identifier that a request brings belongs to the receiver of the event.
    let request = is_request.then(|| unsafe { CmId::adopt(event.id, channel) });
    // SAFETY: the caller guarantees that the event is not acknowledged yet.
    unsafe { contents(event, key, request) }
}

/// Copies the event that a synchronous identifier keeps. The identifier that a request brings is
/// not part of it: rdma_get_request(3) returns that.
///
/// # Safety
/// The event must not be acknowledged yet: until then its identifier lives.
pub(super) unsafe fn copy_kept(event: &rdma_cm_event) -> Event {
    let key = pointer_to_key(field!(event.id, context));
    // SAFETY: the caller guarantees that the event is not acknowledged yet.
    unsafe { contents(event, key, None) }
}

/// # Safety
/// The event must not be acknowledged yet: until then its identifier lives.
unsafe fn contents(event: &rdma_cm_event, key: u64, request: Option<CmId>) -> Event {
    let kind = EventKind::new(event.event);
    let is_multicast = matches!(kind, EventKind::MulticastJoin | EventKind::MulticastError);
    let is_datagram = field!(event.id, qp_type) == IBV_QPT_UD || is_multicast;
    let (private_data, parameters, multicast_key) = if is_datagram {
        // SAFETY: the library fills this member for identifiers of datagrams.
        let ud = unsafe { event.param.ud };
        let parameters = Parameters::Datagram {
            address: AddressVector::from_c(&ud.ah_attr),
            queue_pair: ud.qp_num,
            queue_key: ud.qkey,
        };
        if is_multicast {
            // The pointer is the key of the join.
            let key = pointer_to_key(ud.private_data.cast_mut());
            (Vec::new(), parameters, Some(key))
        } else {
            // SAFETY: the event gives the address and the length of its data.
            let data = unsafe { bytes(ud.private_data.cast(), ud.private_data_len) };
            (data, parameters, None)
        }
    } else {
        // SAFETY: the library fills this member for other identifiers, with zeros if it has no
        // meaning.
        let conn: rdma_conn_param = unsafe { event.param.conn };
        let parameters = Parameters::Connection {
            responder_resources: conn.responder_resources,
            initiator_depth: conn.initiator_depth,
            flow_control: conn.flow_control != 0,
            retry_count: conn.retry_count,
            rnr_retry_count: conn.rnr_retry_count,
            shared_receive: conn.srq != 0,
            queue_pair: conn.qp_num,
        };
        // SAFETY: the event gives the address and the length of its data.
        (unsafe { bytes(conn.private_data.cast(), conn.private_data_len) }, parameters, None)
    };
    let status = event.status.unsigned_abs();
    Event { kind, key, request, status, private_data, parameters, multicast_key }
}

/// # Safety
/// There must be that number of bytes, unless the pointer is null.
unsafe fn bytes(from: *const u8, length: u8) -> Vec<u8> {
    if from.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller guarantees `length` bytes.
    unsafe { std::slice::from_raw_parts(from, usize::from(length)) }.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind, status: i32, parameters: Parameters) -> Event {
        let (private_data, status) = (Vec::new(), status.unsigned_abs());
        let (request, multicast_key) = (None, None);
        Event { kind, key: 7, request, status, private_data, parameters, multicast_key }
    }

    const CONNECTION: Parameters = Parameters::Connection {
        responder_resources: 0,
        initiator_depth: 0,
        flow_control: false,
        retry_count: 0,
        rnr_retry_count: 0,
        shared_receive: false,
        queue_pair: 0,
    };

    #[test]
    fn the_errno_of_an_event_is_that_of_the_call_that_began_the_operation() {
        for (kind, status, call, errno) in [
            (EventKind::AddressError, libc::ENODEV, "rdma_resolve_addr", libc::ENODEV),
            (EventKind::AddressError, libc::EHOSTUNREACH, "rdma_resolve_addr", libc::EHOSTUNREACH),
            (EventKind::RouteError, libc::ETIMEDOUT, "rdma_resolve_route", libc::ETIMEDOUT),
            (EventKind::Unreachable, libc::ETIMEDOUT, "rdma_connect", libc::ETIMEDOUT),
            (EventKind::Rejected, 28, "rdma_connect", libc::ECONNREFUSED),
        ] {
            let error = event(kind, -status, CONNECTION).outcome().expect_err("a failure");
            assert_eq!((error.call, error.errno), (call, errno), "{kind}");
        }
    }

    #[test]
    fn an_answer_for_datagrams_is_a_refusal_and_its_absence_is_not() {
        let address = AddressVector::from_c(&crate::sys::verbs::ibv_ah_attr::default());
        let parameters = Parameters::Datagram { address, queue_pair: 0, queue_key: 0 };
        let errno = |status| {
            let event = event(EventKind::Unreachable, status, parameters);
            event.outcome().expect_err("a failure").errno
        };
        for status in 1..=5 {
            assert_eq!(errno(status), libc::ECONNREFUSED, "{status}");
        }
        assert_eq!(errno(-libc::ETIMEDOUT), libc::ETIMEDOUT);
    }
}
