//! Delivery of events: the calls that take an event from a dispatcher, and its conversion.

use std::mem;
use std::sync::Arc;

use real::error::{Result, ReturnType};
use real::{
    AsyncError, AsyncErrorKind, ConnectionEvent, ConnectionEventKind, ObjectKind, RefusalCause,
    RmrBindCompletion, Timeout, WaitResult,
};

use super::adapter::Adapter;
use super::convert::{count, id, micros, private_data, status, to_count};
use super::evd::Evd;
use super::event::{CrArrival, Event};
use super::handle_type::Handle as _;
use super::result::call;
use super::{handle, rmr};
use crate::abi::*;
use crate::version;

/// An event with all bits zero.
fn nothing() -> DAT_EVENT {
    // SAFETY: the struct holds integers and pointers, for which all zero bits are valid.
    unsafe { mem::zeroed() }
}

impl Evd {
    /// dat_evd_dequeue(3DAT).
    ///
    /// # Errors
    /// The errors of the call, except for an empty queue.
    pub fn dequeue(&self, event: &mut Event) -> Result<bool> {
        let mut place = nothing();
        match call!(table.evd_dequeue_func(self.handle(), &raw mut place)) {
            Ok(()) => {
                *event = self.delivered(&place);
                Ok(true)
            }
            Err(error) if error.is(ReturnType::QueueEmpty) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// dat_evd_wait(3DAT).
    ///
    /// # Errors
    /// The errors of the call, except for a time-out.
    pub fn wait(&self, timeout: Timeout, threshold: u32, event: &mut Event) -> Result<WaitResult> {
        let (mut place, mut more) = (nothing(), 0);
        let (timeout, threshold) = (micros(timeout), to_count(threshold));
        let waited = call!(table.evd_wait_func(
            self.handle(),
            timeout,
            threshold,
            &raw mut place,
            &raw mut more,
        ));
        match waited {
            Ok(()) => {
                *event = self.delivered(&place);
                Ok(WaitResult::Event { more: count(more) })
            }
            Err(error) if error.is(ReturnType::TimeoutExpired) => {
                Ok(WaitResult::TimedOut { queued: count(more) })
            }
            Err(error) => Err(error),
        }
    }

    fn delivered(&self, place: &DAT_EVENT) -> Event {
        assert_eq!(place.evd_handle, self.handle(), "an event names its dispatcher");
        read(place, self.object.ia())
    }
}

/// Converts an event that the library delivered on a dispatcher of the adapter.
///
/// # Panics
/// If DAT does not define the event number.
fn read(from: &DAT_EVENT, ia: &Arc<Adapter>) -> Event {
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
            let data = unsafe { &data.cr_arrival_event_data };
            Event::ConnectionRequest(CrArrival::read(data, ia, false))
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

fn connection(kind: ConnectionEventKind, from: &DAT_CONNECTION_EVENT_DATA) -> Event {
    let private_data = private_data(from.private_data_size, from.private_data);
    // The C API has the cause as text only.
    let cause = RefusalCause::Unknown;
    Event::Connection(ConnectionEvent { kind, ep: id(from.ep_handle), private_data, cause })
}

fn asynchronous(number: DAT_EVENT_NUMBER, from: &DAT_ASYNCH_ERROR_EVENT_DATA) -> Event {
    let reason = from.reason as u32;
    let kind = match number {
        DAT_ASYNC_ERROR_EVD_OVERFLOW => AsyncErrorKind::EvdOverflow,
        DAT_ASYNC_ERROR_IA_CATASTROPHIC => AsyncErrorKind::IaCatastrophic,
        DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR => AsyncErrorKind::ProviderInternal,
        DAT_ASYNC_ERROR_EP_BROKEN => match handle::kind_of(from.dat_handle) {
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
