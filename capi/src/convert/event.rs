//! Conversion of events to C.

use std::mem::ManuallyDrop;

#[cfg(not(all(dat2, target_pointer_width = "64")))]
use dat_core::provider::plain_success::{PlainSuccess, TakeResult};
use dat_core::{
    AsyncError, AsyncErrorKind, ConnectionEvent, CrArrival, DtoCompletion, DtoStatus, EpId, Event,
    Failure, Operation, RmrBindCompletion, ServicePoint,
};

use super::address::adapter_to_c;
use super::{Narrow, count};
use crate::abi::*;
use crate::handle::{self, of_number};
use crate::{adapters, last_error, structs};

/// Writes an event of a dispatcher to the caller's struct, and drops it. Only the fields of that
/// event are written.
#[inline(always)]
pub(crate) fn deliver(event: &mut ManuallyDrop<Event>, evd: DAT_EVD_HANDLE, to: &mut DAT_EVENT) {
    to.evd_handle = evd;
    if let Event::Dto(done) = &**event {
        return completion(done, to);
    }
    rare(std::mem::take(&mut **event), to);
}

#[inline(always)]
fn completion(done: &DtoCompletion, to: &mut DAT_EVENT) {
    to.event_number = DAT_DTO_COMPLETION_EVENT;
    to.event_data = DAT_EVENT_DATA { dto_completion_event_data: completion_data(done) };
    if !is_basic(done.operation) {
        structs::extended_completion(done, to);
    }
    if done.status != DtoStatus::Success {
        failed(done.ep, (done.operation, done.cookie, done.status));
    }
}

/// The data of a completion.
#[inline]
pub(crate) fn completion_data(done: &DtoCompletion) -> DAT_DTO_COMPLETION_EVENT_DATA {
    value! { DAT_DTO_COMPLETION_EVENT_DATA {
        ep_handle: of_number(done.ep),
        user_cookie: DAT_CONTEXT { as_64: done.cookie },
        status: done.status.value(),
        transfered_length: Narrow::narrow(done.length),
        v2 {
            operation: done.operation as DAT_DTOS,
            rmr_context: done.invalidated().unwrap_or(0),
        }
    } }
}

/// Takes a plain success and converts it to the data of a C event. Where both have the same layout, `structs::take`
/// needs no conversion.
#[cfg(not(all(dat2, target_pointer_width = "64")))]
#[inline(always)]
pub(crate) fn take_and_convert(
    to: &mut DAT_EVENT_DATA,
    take: impl FnOnce(&mut PlainSuccess) -> TakeResult,
) -> TakeResult {
    let mut success = PlainSuccess::default();
    let taken = take(&mut success);
    if taken == TakeResult::Success {
        to.dto_completion_event_data = completion_data(&success.into());
    }
    taken
}

/// Stores the failure for dat_error_detail.
#[cold]
#[inline(never)]
fn failed(ep: EpId, (operation, cookie, status): (Operation, u64, DtoStatus)) {
    last_error::set_completion(ep, Failure { operation, cookie, status, cause: String::new() });
}

/// Returns true if an operation belongs to DAT itself and not to an extension.
const fn is_basic(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Send
            | Operation::RdmaWrite
            | Operation::RdmaRead
            | Operation::Receive
            | Operation::ReceiveWithInvalidate
    )
}

fn bind(done: &RmrBindCompletion, to: &mut DAT_EVENT) {
    to.event_data.rmr_completion_event_data = DAT_RMR_BIND_COMPLETION_EVENT_DATA {
        rmr_handle: of_number(done.rmr),
        user_cookie: DAT_CONTEXT { as_64: done.cookie },
        status: done.status.value(),
    };
}

#[cold]
#[inline(never)]
fn rare(event: Event, to: &mut DAT_EVENT) {
    to.event_number = event.number();
    match &event {
        Event::RmrBind(done) => {
            bind(done, to);
            if done.status != DtoStatus::Success {
                failed(done.ep, (Operation::Bind, done.cookie, done.status));
            }
        }
        Event::ConnectionRequest(arrival) => {
            request(arrival, to);
            if arrival.datagram {
                structs::datagram_request(to);
            }
        }
        Event::Connection(event) => {
            connection(event, to);
            last_error::set_connection(event);
        }
        Event::Datagram(event) => {
            structs::datagram(event, to);
            last_error::set_datagram(event);
        }
        Event::Async(error) => {
            asynchronous(error, to);
            last_error::set_async(error.kind);
        }
        Event::Software(value) => {
            to.event_data.software_event_data =
                DAT_SOFTWARE_EVENT_DATA { pointer: of_number(*value) };
        }
        _ => {}
    }
}

fn request(arrival: &CrArrival, to: &mut DAT_EVENT) {
    let ia = arrival.request.adapter();
    let table = adapters::table(&ia);
    // From here on C knows the request, and the endpoint for which it arrived.
    let cr_handle = handle::attach(arrival.request.clone(), table);
    if let Some(endpoint) = arrival.request.query().ok().and_then(|it| it.local_ep) {
        handle::attach(endpoint, table);
    }
    let address = adapter_to_c(ia.attributes().address);
    let local = handle::with_storage(cr_handle, |kept| kept.local_address.set(address));
    let sp_handle = match arrival.service_point {
        ServicePoint::Public(number) => DAT_SP_HANDLE { psp_handle: of_number(number) },
        ServicePoint::Reserved(number) => DAT_SP_HANDLE { rsp_handle: of_number(number) },
        // No call of DAT 1.2 creates a common service point.
        ServicePoint::Common(number) => by_version! {
            { DAT_SP_HANDLE { psp_handle: of_number(number) } }
            { DAT_SP_HANDLE { csp_handle: of_number(number) } }
        },
    };
    to.event_data.cr_arrival_event_data = value! { DAT_CR_ARRIVAL_EVENT_DATA {
        sp_handle,
        local_ia_address_ptr: local.map_or(std::ptr::null_mut(), <*mut _>::cast),
        conn_qual: arrival.qualifier,
        cr_handle,
        v2 { truncate_flag: DAT_FALSE, }
    } };
}

fn connection(event: &ConnectionEvent, to: &mut DAT_EVENT) {
    to.event_data.connect_event_data = connection_data(event.ep, &event.private_data);
}

/// The data of a connection event; the private data belongs to the endpoint.
pub(crate) fn connection_data(endpoint: u64, private_data: &[u8]) -> DAT_CONNECTION_EVENT_DATA {
    let ep_handle = of_number(endpoint);
    // Most connections have no private data, and their endpoints then need no memory for it.
    let write = || handle::with_storage(ep_handle, |kept| kept.private_data.write(private_data));
    let kept = if private_data.is_empty() { None } else { write() };
    // If the endpoint was freed in the meantime, the data is gone with it.
    let (size, address) =
        kept.map_or((0, std::ptr::null_mut()), |address| (private_data.len(), address));
    DAT_CONNECTION_EVENT_DATA {
        ep_handle,
        private_data_size: count(size),
        private_data: address.cast(),
    }
}

fn asynchronous(error: &AsyncError, to: &mut DAT_EVENT) {
    let (dat_handle, reason) = match error.kind {
        AsyncErrorKind::IaCatastrophic => {
            (adapters::of_number(error.object), DAT_IA_CATASTROPHIC_ERROR)
        }
        AsyncErrorKind::ProviderInternal => (adapters::of_number(error.object), DAT_IA_OTHER_ERROR),
        AsyncErrorKind::EvdOverflow => (of_number(error.object), DAT_EVD_OVERFLOW_ERROR),
        AsyncErrorKind::SrqLowWatermark => (of_number(error.object), DAT_SRQ_LOW_WATERMARK_EVENT),
        AsyncErrorKind::EpSoftHighWatermark => {
            (of_number(error.object), DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT)
        }
        _ => (of_number(error.object), DAT_EP_TRANSFER_TO_ERROR),
    };
    to.event_data.asynch_error_event_data =
        DAT_ASYNCH_ERROR_EVENT_DATA { dat_handle, reason: count(reason) };
}
