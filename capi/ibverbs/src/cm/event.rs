//! Events (rdma_get_cm_event(3)), and the events for which calls of synchronous identifiers wait.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use dat_soft_verbs::cm::{Event, EventKind, Parameters};
use rdma_verbs::sys::rdma_cma::{
    rdma_cm_event, rdma_cm_id, rdma_conn_param, rdma_event_channel, rdma_ud_param,
};

use super::{channel, device, id};
use crate::guard::{self, Failure, INVALID, Result};
use crate::object::{self, Zero};
use crate::verbs::{address_handle, context};

/// An event.
#[repr(C)]
struct CEvent {
    c: rdma_cm_event,
    /// Acknowledged when it is dropped.
    core: Event,
}

// SAFETY: numbers and pointers.
unsafe impl Zero for rdma_cm_event {}
// SAFETY: numbers and pointers.
unsafe impl Zero for rdma_ud_param {}
// SAFETY: numbers and pointers.
unsafe impl Zero for rdma_conn_param {}

/// Takes the next event of a channel.
///
/// # Safety
/// The channel must be alive.
pub(super) unsafe fn take(channel: *mut rdma_event_channel) -> Result<*mut rdma_cm_event> {
    // SAFETY: the caller guarantees a live channel.
    let core = unsafe { channel::core(channel) }.next()?;
    // SAFETY: as above.
    unsafe { wrap(core) }
}

/// Makes an event of C. The identifier of a request is created, and is like its listener.
///
/// # Safety
/// The identifiers of the event must be alive, which they are until it is acknowledged.
unsafe fn wrap(core: Event) -> Result<*mut rdma_cm_event> {
    let mut c = rdma_cm_event::zero();
    c.event = core.kind() as u32;
    c.status = core.status();
    c.id = match core.listener() {
        None => object::at(core.identifier().user()),
        Some(listener) => {
            c.listen_id = object::at(listener.user());
            // SAFETY: as the caller guarantees.
            let like = unsafe { &*c.listen_id };
            let new = id::wrap(Arc::clone(core.identifier()), like.channel, like.context)?;
            // SAFETY: as above.
            if unsafe { id::is_synchronous(c.listen_id) } {
                // SAFETY: just created.
                unsafe { id::migrate(new, null_mut()) }?;
            }
            new
        }
    };
    // SAFETY: as above.
    unsafe { id::refresh(c.id) }?;
    let event = object::create(|_| Ok(CEvent { c, core }))?;
    // SAFETY: just created. The parameters point into the event, whose address does not change.
    fill(unsafe { &mut *event })?;
    Ok(event.cast())
}

/// Writes the parameters.
fn fill(event: &mut CEvent) -> Result<()> {
    let data = |bytes: &[u8]| match bytes.is_empty() {
        true => (std::ptr::null(), 0),
        false => (bytes.as_ptr().cast::<c_void>(), u8::try_from(bytes.len()).unwrap_or(u8::MAX)),
    };
    match event.core.parameters() {
        Parameters::None => {}
        Parameters::Data(bytes) => {
            let (private_data, private_data_len) = data(bytes);
            // The data is at the same place for connections and datagrams.
            event.c.param.conn =
                rdma_conn_param { private_data, private_data_len, ..rdma_conn_param::zero() };
        }
        Parameters::Connection(seen) => {
            let (private_data, private_data_len) = data(&seen.private_data);
            event.c.param.conn = rdma_conn_param {
                private_data,
                private_data_len,
                responder_resources: seen.responder_resources,
                initiator_depth: seen.initiator_depth,
                flow_control: seen.flow_control,
                retry_count: seen.retry_count,
                rnr_retry_count: seen.rnr_retry_count,
                srq: seen.is_shared.into(),
                qp_num: seen.number,
            };
        }
        Parameters::Datagram(seen) => {
            let (mut private_data, private_data_len) = data(&seen.private_data);
            if matches!(event.core.kind(), EventKind::MulticastJoin | EventKind::MulticastError) {
                private_data = object::at::<c_void>(seen.user);
            }
            let opened = device::opened()?;
            // SAFETY: the device of the connection manager stays open.
            let context = unsafe { context::core(opened.context) };
            let vector = event.core.identifier().address_vector(context, seen.gid);
            event.c.param.ud = rdma_ud_param {
                private_data,
                private_data_len,
                ah_attr: address_handle::attributes(&vector),
                qp_num: seen.number,
                qkey: seen.key,
            };
        }
    }
    Ok(())
}

/// Acknowledges the event that a synchronous identifier keeps.
///
/// # Safety
/// The identifier must be alive.
pub(super) unsafe fn release(id: *mut rdma_cm_id) {
    // SAFETY: the caller guarantees a live identifier.
    let kept = std::mem::replace(unsafe { &mut (*id).event }, null_mut());
    if !kept.is_null() {
        // SAFETY: the identifier kept it.
        unsafe { object::delete(kept.cast::<CEvent>()) };
    }
}

/// Waits for the event of a call, if the identifier is synchronous, and keeps it until the next call.
///
/// # Errors
/// The errno of the event.
///
/// # Safety
/// The identifier must be alive.
pub(super) unsafe fn outcome(id: *mut rdma_cm_id) -> Result<()> {
    // SAFETY: the caller guarantees a live identifier.
    if !unsafe { id::is_synchronous(id) } {
        return Ok(());
    }
    // SAFETY: as above.
    unsafe { release(id) };
    // SAFETY: as above.
    let events = unsafe { (*id).channel };
    // SAFETY: the channel of a synchronous identifier is alive.
    let event = unsafe { take(events) }?;
    // SAFETY: as above.
    unsafe { (*id).event = event };
    // SAFETY: just taken.
    let taken = unsafe { &*event };
    let (kind, status) = (taken.event, taken.status);
    match status {
        0 => Ok(()),
        _ if kind == EventKind::Rejected as u32 => Err(Failure(libc::ECONNREFUSED)),
        status => Err(Failure(status.abs())),
    }
}

/// As [`outcome`], after a call that may have been made before: it does not wait for an event that was taken then.
///
/// # Safety
/// The identifier must be alive.
pub(super) unsafe fn outcome_if_any(id: *mut rdma_cm_id) -> Result<()> {
    // SAFETY: the caller guarantees a live identifier.
    if unsafe { id::is_synchronous(id) } {
        // SAFETY: as above.
        let events = unsafe { (*id).channel };
        // SAFETY: the channel of a synchronous identifier is alive.
        if let Some(core) = unsafe { channel::core(events) }.try_next() {
            // SAFETY: as above.
            unsafe { release(id) };
            // SAFETY: the event is of this identifier.
            let event = unsafe { wrap(core) }?;
            // SAFETY: as above.
            unsafe { (*id).event = event };
        }
    }
    Ok(())
}

/// Takes the next request of a synchronous listener, with its event.
///
/// # Safety
/// The identifier must be alive.
pub(super) unsafe fn take_request(listener: *mut rdma_cm_id) -> Result<*mut rdma_cm_id> {
    // SAFETY: the caller guarantees a live identifier.
    if !unsafe { id::is_synchronous(listener) } {
        return Err(INVALID);
    }
    // SAFETY: as above.
    unsafe { release(listener) };
    // SAFETY: as above.
    let events = unsafe { (*listener).channel };
    // SAFETY: the channel of a synchronous identifier is alive.
    let event = unsafe { take(events) }?;
    // SAFETY: just taken.
    let taken = unsafe { &*event };
    let (kind, status, request) = (taken.event, taken.status, taken.id);
    if status != 0 || kind != EventKind::ConnectRequest as u32 {
        // SAFETY: just taken, and not used any more.
        unsafe { object::delete(event.cast::<CEvent>()) };
        return Err(if status == 0 { INVALID } else { Failure(status.abs()) });
    }
    // SAFETY: the identifier of the request was just created.
    unsafe { (*request).event = event };
    Ok(request)
}

/// Takes the next event, and waits for one unless the descriptor of the channel is non-blocking.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_get_cm_event(
    channel: *mut rdma_event_channel,
    event: *mut *mut rdma_cm_event,
) -> c_int {
    guard::number(|| {
        if event.is_null() {
            return Err(INVALID);
        }
        // SAFETY: the caller guarantees the channel.
        let taken = unsafe { take(channel) }?;
        // SAFETY: the caller guarantees the pointer.
        unsafe { event.write(taken) };
        Ok(0)
    })
}

/// Acknowledges an event, which is gone afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_ack_cm_event(event: *mut rdma_cm_event) -> c_int {
    guard::number(|| {
        if event.is_null() {
            return Err(INVALID);
        }
        // SAFETY: the caller guarantees an event that was taken.
        unsafe { object::delete(event.cast::<CEvent>()) };
        Ok(0)
    })
}

/// The name of an event.
#[unsafe(no_mangle)]
pub extern "C" fn soft_rdma_event_str(event: u32) -> *const c_char {
    let text = match EventKind::ALL.get(event as usize) {
        None => c"UNKNOWN EVENT",
        Some(kind) => match kind {
            EventKind::AddressResolved => c"RDMA_CM_EVENT_ADDR_RESOLVED",
            EventKind::AddressError => c"RDMA_CM_EVENT_ADDR_ERROR",
            EventKind::RouteResolved => c"RDMA_CM_EVENT_ROUTE_RESOLVED",
            EventKind::RouteError => c"RDMA_CM_EVENT_ROUTE_ERROR",
            EventKind::ConnectRequest => c"RDMA_CM_EVENT_CONNECT_REQUEST",
            EventKind::ConnectResponse => c"RDMA_CM_EVENT_CONNECT_RESPONSE",
            EventKind::ConnectError => c"RDMA_CM_EVENT_CONNECT_ERROR",
            EventKind::Unreachable => c"RDMA_CM_EVENT_UNREACHABLE",
            EventKind::Rejected => c"RDMA_CM_EVENT_REJECTED",
            EventKind::Established => c"RDMA_CM_EVENT_ESTABLISHED",
            EventKind::Disconnected => c"RDMA_CM_EVENT_DISCONNECTED",
            EventKind::DeviceRemoval => c"RDMA_CM_EVENT_DEVICE_REMOVAL",
            EventKind::MulticastJoin => c"RDMA_CM_EVENT_MULTICAST_JOIN",
            EventKind::MulticastError => c"RDMA_CM_EVENT_MULTICAST_ERROR",
            EventKind::AddressChange => c"RDMA_CM_EVENT_ADDR_CHANGE",
            EventKind::TimewaitExit => c"RDMA_CM_EVENT_TIMEWAIT_EXIT",
        },
    };
    text.as_ptr()
}
