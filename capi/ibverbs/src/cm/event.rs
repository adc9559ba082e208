//! Events (rdma_get_cm_event(3)), and the events for which calls of synchronous identifiers wait.

use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::Arc;

use dat_soft_verbs::cm::{Event, EventKind, Parameters};
use rdma_verbs::sys::rdma_cma::{
    rdma_cm_event, rdma_conn_param, rdma_event_channel, rdma_ud_param,
};

use super::id::Id;
use super::{channel, device};
use crate::guard::{self, Failure, Result, given, invalid, refused};
use crate::object::{self, Zero, with_fields};
use crate::verbs::address_handle;

/// An event, which is acknowledged when it is dropped.
#[repr(C)]
pub(super) struct CEvent {
    c: rdma_cm_event,
    core: Event,
}

// SAFETY: numbers and pointers.
unsafe impl Zero for rdma_cm_event {}
// SAFETY: numbers and pointers.
unsafe impl Zero for rdma_ud_param {}
// SAFETY: numbers and pointers.
unsafe impl Zero for rdma_conn_param {}

/// Makes an event of C. The identifier of a request is created, and is like its listener.
fn wrap(core: Event) -> Result<Box<CEvent>> {
    // SAFETY: the identifiers of an event are alive until it is acknowledged.
    let live = |user| unsafe { Id::new(object::at(user)) };
    let mut c = rdma_cm_event::zero();
    c.event = core.kind() as u32;
    c.status = core.status();
    let id = match core.listener() {
        None => live(core.identifier().user()),
        Some(listener) => {
            let listener = live(listener.user());
            c.listen_id = listener.pointer();
            let (channel, context) = listener.with(|like| (like.channel, like.context));
            let new = Id::wrap(Arc::clone(core.identifier()), channel, context)?;
            if listener.is_synchronous() {
                // SAFETY: there is no channel.
                unsafe { new.migrate(null_mut()) }?;
            }
            new
        }
    };
    c.id = id.pointer();
    id.refresh()?;
    let mut event = Box::new(CEvent { c, core });
    // The parameters point into the event, whose address does not change.
    fill(&mut event)?;
    Ok(event)
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
            event.c.param.conn = with_fields!(rdma_conn_param of seen:
                responder_resources, initiator_depth, flow_control, retry_count, rnr_retry_count;
                private_data: private_data, private_data_len: private_data_len,
                srq: seen.is_shared.into(), qp_num: seen.number);
        }
        Parameters::Datagram(seen) => {
            let (mut private_data, private_data_len) = data(&seen.private_data);
            if matches!(event.core.kind(), EventKind::MulticastJoin | EventKind::MulticastError) {
                private_data = object::at::<c_void>(seen.user);
            }
            let opened = device::opened()?;
            let vector = event.core.identifier().address_vector(opened.core(), seen.gid);
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

/// The failure of a synchronous call, whose event has an errno.
fn failed(kind: u32, errno: c_int) -> Failure {
    let kind = EventKind::ALL.get(kind as usize);
    let error = std::io::Error::from_raw_os_error(errno);
    refused(errno, format!("the call has ended with the event {kind:?}: {error}"))
}

impl Id<'_> {
    /// Keeps an event until the next call.
    fn keep_event(self, event: Box<CEvent>) {
        self.with(|c| c.event = Box::into_raw(event).cast());
    }

    /// Acknowledges the event that a synchronous identifier keeps.
    pub(super) fn release_event(self) {
        let kept = self.with(|c| std::mem::replace(&mut c.event, null_mut()));
        if !kept.is_null() {
            // SAFETY: the identifier kept it.
            unsafe { object::delete(kept.cast::<CEvent>()) };
        }
    }

    /// Waits for the event of a call, if the identifier is synchronous, and keeps it until the next call.
    ///
    /// # Errors
    /// The errno of the event.
    pub(super) fn outcome(self) -> Result<()> {
        if !self.is_synchronous() {
            return Ok(());
        }
        self.release_event();
        let event = wrap(self.core().channel().next()?)?;
        let (kind, status) = (event.c.event, event.c.status);
        self.keep_event(event);
        match status {
            0 => Ok(()),
            _ if kind == EventKind::Rejected as u32 => Err(failed(kind, libc::ECONNREFUSED)),
            status => Err(failed(kind, status.abs())),
        }
    }

    /// As [`outcome`](Self::outcome), after a call that may have been made before: it does not wait for an event that was
    /// taken then.
    pub(super) fn outcome_if_any(self) -> Result<()> {
        if self.is_synchronous() {
            if let Some(core) = self.core().channel().try_next() {
                self.release_event();
                self.keep_event(wrap(core)?);
            }
        }
        Ok(())
    }

    /// Takes the next request of a synchronous listener, with its event.
    pub(super) fn take_request(self) -> Result<Self> {
        if !self.is_synchronous() {
            return Err(invalid(
                "cannot get a request from a listener with an event channel: use rdma_get_cm_event",
            ));
        }
        self.release_event();
        let event = wrap(self.core().channel().next()?)?;
        let status = event.c.status;
        if status != 0 || event.c.event != EventKind::ConnectRequest as u32 {
            let errno = if status == 0 { libc::EINVAL } else { status.abs() };
            return Err(failed(event.c.event, errno));
        }
        // SAFETY: the identifier of the request was just created.
        let request = unsafe { Id::new(event.c.id) };
        request.keep_event(event);
        Ok(request)
    }
}

/// Takes the next event, and waits for one unless the descriptor of the channel is non-blocking.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_get_cm_event(
    channel: *mut rdma_event_channel,
    event: Option<&mut MaybeUninit<*mut rdma_cm_event>>,
) -> c_int {
    guard::zero(|| {
        let event = given(event, "the place of the event")?;
        // SAFETY: the caller guarantees the channel.
        let taken = wrap(unsafe { channel::core(channel) }.next()?)?;
        event.write(Box::into_raw(taken).cast());
        Ok(())
    })
}

/// Acknowledges an event, which is gone afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_ack_cm_event(event: *mut rdma_cm_event) -> c_int {
    guard::zero(|| {
        if event.is_null() {
            return Err(invalid("cannot acknowledge an event that is null"));
        }
        // SAFETY: the caller guarantees an event that was taken.
        unsafe { object::delete(event.cast::<CEvent>()) };
        Ok(())
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
