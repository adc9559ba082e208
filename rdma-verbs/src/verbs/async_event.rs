//! Asynchronous events of a device.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use super::values::values;
use super::{Context, Error, Result, library, pointer_to_key};
use crate::sys::verbs as sys;

/// An event of an object or a port of a device (ibv_get_async_event(3)). Objects are named by the
/// keys that the program gave them.
///
/// ```
/// use rdma_verbs::verbs::{AsyncEvent, Context, PortEvent};
///
/// /// Waits until a port of the device is active.
/// fn active_port(context: &Context) -> rdma_verbs::Result<u8> {
///     loop {
///         if let AsyncEvent::Port { port, event: PortEvent::Active } = context.take_async_event()? {
///             return Ok(port);
///         }
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AsyncEvent {
    /// An event of a queue pair.
    QueuePair {
        /// Its key.
        key: u64,
        /// The event.
        event: QueuePairEvent,
    },
    /// A completion queue overran, or failed.
    CompletionQueue {
        /// Its key.
        key: u64,
    },
    /// An event of a shared receive queue.
    SharedReceive {
        /// Its key.
        key: u64,
        /// The event.
        event: SharedReceiveEvent,
    },
    /// An event of a port.
    Port {
        /// Its number.
        port: u8,
        /// The event.
        event: PortEvent,
    },
    /// An event of the whole device.
    Device(DeviceEvent),
}

values! {
    /// An event of a queue pair.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum QueuePairEvent;
    /// It failed and is in the error state.
    Fatal = IBV_EVENT_QP_FATAL;
    /// The peer's request was invalid.
    InvalidRequest = IBV_EVENT_QP_REQ_ERR;
    /// The peer's request violated the access rights.
    AccessViolation = IBV_EVENT_QP_ACCESS_ERR;
    /// A message arrived before the connection was known to be established.
    CommunicationEstablished = IBV_EVENT_COMM_EST;
    /// The send queue is drained.
    SendQueueDrained = IBV_EVENT_SQ_DRAINED;
    /// The connection moved to its alternate path.
    PathMigrated = IBV_EVENT_PATH_MIG;
    /// The connection could not move to its alternate path.
    PathMigrationFailed = IBV_EVENT_PATH_MIG_ERR;
    /// It took its last receive from a shared queue.
    LastReceiveReached = IBV_EVENT_QP_LAST_WQE_REACHED;
}

/// An event of a shared receive queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SharedReceiveEvent {
    /// It failed.
    Error,
    /// Fewer receives are left than its limit.
    LimitReached,
}

/// An event of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PortEvent {
    /// The link came up.
    Active,
    /// The link went down.
    Down,
    /// Its local identifier changed.
    LidChange,
    /// Its partition keys changed.
    PkeyChange,
    /// The subnet manager changed.
    SubnetManagerChange,
    /// The subnet manager requests that clients register again.
    ClientReregister,
    /// Its GIDs changed.
    GidChange,
}

/// An event of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceEvent {
    /// It failed, or was removed.
    Fatal,
    /// An event that this version does not know.
    Unknown(u32),
}

impl QueuePairEvent {
    /// The value in C, for [`CmId::notify`](crate::cm::CmId::notify).
    pub(crate) const fn value(self) -> u32 {
        match self {
            Self::Fatal => sys::IBV_EVENT_QP_FATAL,
            Self::InvalidRequest => sys::IBV_EVENT_QP_REQ_ERR,
            Self::AccessViolation => sys::IBV_EVENT_QP_ACCESS_ERR,
            Self::CommunicationEstablished => sys::IBV_EVENT_COMM_EST,
            Self::SendQueueDrained => sys::IBV_EVENT_SQ_DRAINED,
            Self::PathMigrated => sys::IBV_EVENT_PATH_MIG,
            Self::PathMigrationFailed => sys::IBV_EVENT_PATH_MIG_ERR,
            Self::LastReceiveReached => sys::IBV_EVENT_QP_LAST_WQE_REACHED,
            Self::Unknown(other) => other,
        }
    }
}

const fn port_event(event: u32) -> Option<PortEvent> {
    Some(match event {
        sys::IBV_EVENT_PORT_ACTIVE => PortEvent::Active,
        sys::IBV_EVENT_PORT_ERR => PortEvent::Down,
        sys::IBV_EVENT_LID_CHANGE => PortEvent::LidChange,
        sys::IBV_EVENT_PKEY_CHANGE => PortEvent::PkeyChange,
        sys::IBV_EVENT_SM_CHANGE => PortEvent::SubnetManagerChange,
        sys::IBV_EVENT_CLIENT_REREGISTER => PortEvent::ClientReregister,
        sys::IBV_EVENT_GID_CHANGE => PortEvent::GidChange,
        _ => return None,
    })
}

/// The port number in the union of an event: an `int` at the address of the pointer.
fn port_number(element: *mut c_void) -> u8 {
    let [first, second, third, fourth, ..] = element.addr().to_ne_bytes();
    i32::from_ne_bytes([first, second, third, fourth]) as u8
}

impl AsyncEvent {
    /// Copies an event.
    ///
    /// # Safety
    /// The event must not be acknowledged yet.
    unsafe fn copy(raw: &sys::ibv_async_event) -> Self {
        match raw.event_type {
            event @ (sys::IBV_EVENT_QP_FATAL..=sys::IBV_EVENT_PATH_MIG_ERR
            | sys::IBV_EVENT_QP_LAST_WQE_REACHED) => {
                let qp = raw.element.cast::<sys::ibv_qp>();
                // SAFETY: such an event names a queue pair, whose destruction waits until the event
                // is acknowledged.
                let key = pointer_to_key(unsafe { (*qp).qp_context });
                Self::QueuePair { key, event: QueuePairEvent::new(event) }
            }
            sys::IBV_EVENT_CQ_ERR => {
                let cq = raw.element.cast::<sys::ibv_cq>();
                // SAFETY: such an event names a completion queue, whose destruction waits until the
                // event is acknowledged.
                Self::CompletionQueue { key: pointer_to_key(unsafe { (*cq).cq_context }) }
            }
            event @ (sys::IBV_EVENT_SRQ_ERR | sys::IBV_EVENT_SRQ_LIMIT_REACHED) => {
                let srq = raw.element.cast::<sys::ibv_srq>();
                // SAFETY: such an event names a shared receive queue, whose destruction waits until
                // the event is acknowledged.
                let key = pointer_to_key(unsafe { (*srq).srq_context });
                let event = match event {
                    sys::IBV_EVENT_SRQ_ERR => SharedReceiveEvent::Error,
                    _ => SharedReceiveEvent::LimitReached,
                };
                Self::SharedReceive { key, event }
            }
            sys::IBV_EVENT_DEVICE_FATAL => Self::Device(DeviceEvent::Fatal),
            other => match port_event(other) {
                Some(event) => Self::Port { port: port_number(raw.element), event },
                None => Self::Device(DeviceEvent::Unknown(other)),
            },
        }
    }
}

impl Context {
    /// Takes an asynchronous event (ibv_get_async_event(3)). It is copied and acknowledged at
    /// once, so that no thread that destroys an object waits for it. Blocks unless the
    /// [descriptor](Self::async_fd) is non-blocking.
    ///
    /// # Errors
    /// `EAGAIN`: the descriptor is non-blocking and there is no event.
    pub fn take_async_event(&self) -> Result<AsyncEvent> {
        let mut raw = MaybeUninit::<sys::ibv_async_event>::zeroed();
        // SAFETY: the context is open and the pointer valid.
        let code = unsafe { (library!(verbs).ibv_get_async_event)(self.raw(), raw.as_mut_ptr()) };
        Error::check("ibv_get_async_event", code)?;
        // SAFETY: the successful call has filled it.
        let mut raw = unsafe { raw.assume_init() };
        // SAFETY: the event is not acknowledged before the end of the copy.
        let event = unsafe { AsyncEvent::copy(&raw) };
        // SAFETY: the event was taken and is acknowledged once.
        unsafe { (library!(verbs).ibv_ack_async_event)(&raw mut raw) };
        Ok(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_number_is_the_first_int_of_the_union() {
        let mut element = std::ptr::null_mut::<c_void>();
        // SAFETY: a pointer is at least as long and as aligned as an int, and any bits are valid.
        unsafe { (&raw mut element).cast::<i32>().write(2) };
        let raw = sys::ibv_async_event { element, event_type: sys::IBV_EVENT_PORT_ERR };
        // SAFETY: an event of a port refers to no object.
        let event = unsafe { AsyncEvent::copy(&raw) };
        assert_eq!(event, AsyncEvent::Port { port: 2, event: PortEvent::Down });
    }
}
