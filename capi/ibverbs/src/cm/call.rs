//! The calls of identifiers that move them through their states.

use std::ffi::{c_int, c_void};

use dat_soft_verbs::cm::{ConnectParameters, MAX_READS, PortSpace};
use rdma_verbs::sys::rdma_cma::{rdma_cm_id, rdma_conn_param};

use super::id::Id;
use super::{address, device};
use crate::guard::{self, Result, given, invalid, refused};
use crate::object::with_fields;

/// Retry counts without parameters: as often as possible.
const RETRIES: u8 = 7;

/// Runs a call that ends with an event, and copies what has changed.
fn asynchronous(id: Id<'_>, call: impl FnOnce(Id<'_>) -> Result<()>) -> c_int {
    guard::zero(|| {
        call(id)?;
        let outcome = id.outcome();
        id.refresh()?;
        outcome
    })
}

/// Binds an identifier to a local address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_bind_addr(id: Id<'_>, local: *const libc::sockaddr) -> c_int {
    guard::zero(|| {
        // SAFETY: the caller guarantees the address.
        let local = unsafe { address::from_c(local) }?;
        id.core().bind(given(local, "the local address")?)?;
        id.refresh()
    })
}

/// Resolves the address of a peer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_resolve_addr(
    id: Id<'_>,
    source: *const libc::sockaddr,
    destination: *const libc::sockaddr,
    _timeout: c_int,
) -> c_int {
    let call = |id: Id<'_>| {
        // SAFETY: the caller guarantees the address.
        let source = unsafe { address::from_c(source) }?;
        // SAFETY: as above.
        let destination = unsafe { address::from_c(destination) }?;
        Ok(id.core().resolve_address(source, given(destination, "the address of the peer")?)?)
    };
    asynchronous(id, call)
}

/// Resolves the route to a peer.
#[unsafe(no_mangle)]
pub extern "C" fn soft_rdma_resolve_route(id: Id<'_>, _timeout: c_int) -> c_int {
    asynchronous(id, |id| Ok(id.core().resolve_route()?))
}

/// Takes requests.
#[unsafe(no_mangle)]
pub extern "C" fn soft_rdma_listen(id: Id<'_>, backlog: c_int) -> c_int {
    guard::zero(|| {
        id.core().listen(backlog)?;
        id.refresh()
    })
}

/// The private data of a call.
///
/// # Safety
/// The pointer must be null or valid for the length.
unsafe fn private_data<'a>(data: *const c_void, length: u8) -> Result<&'a [u8]> {
    match (data.is_null(), length) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(invalid(format!("private data of {length} bytes is null"))),
        // SAFETY: the caller guarantees valid memory.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(data.cast(), length.into()) }),
    }
}

/// The parameters of a call of C. Reads beyond the maximum of the device are refused, as in librdmacm.
///
/// # Safety
/// The private data must be valid.
unsafe fn parameters<'a>(id: Id<'_>, from: &rdma_conn_param) -> Result<ConnectParameters<'a>> {
    // SAFETY: the caller guarantees valid private data.
    let private_data = unsafe { private_data(from.private_data, from.private_data_len) }?;
    if id.core().space() == PortSpace::Tcp {
        let device = device::opened()?.core().attributes();
        let is_beyond = |reads: u8, most: u32| reads != MAX_READS && u32::from(reads) > most;
        if is_beyond(from.responder_resources, device.max_qp_rd_atom)
            || is_beyond(from.initiator_depth, device.max_qp_init_rd_atom)
        {
            return Err(invalid(format!(
                "cannot connect with {} reads of the peer and {} own reads in flight: the device has at most {} and {}",
                from.responder_resources,
                from.initiator_depth,
                device.max_qp_rd_atom,
                device.max_qp_init_rd_atom
            )));
        }
    }
    Ok(with_fields!(ConnectParameters of from:
        responder_resources, initiator_depth, flow_control, retry_count, rnr_retry_count;
        private_data: private_data, is_shared: from.srq != 0, number: from.qp_num))
}

/// Requests a connection, or looks up a service of datagrams.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_connect(id: Id<'_>, wanted: Option<&rdma_conn_param>) -> c_int {
    let call = |id: Id<'_>| {
        let mut wanted = match wanted {
            // SAFETY: the caller guarantees the private data.
            Some(wanted) => unsafe { parameters(id, wanted) }?,
            None if id.with(|c| c.qp.is_null()) => {
                return Err(invalid(
                    "cannot connect: an identifier without a queue pair needs parameters with the number of one",
                ));
            }
            None => ConnectParameters {
                responder_resources: MAX_READS,
                initiator_depth: MAX_READS,
                retry_count: RETRIES,
                rnr_retry_count: RETRIES,
                ..ConnectParameters::default()
            },
        };
        let prefix = id.extra().connect_data.clone();
        let data = [&prefix, wanted.private_data].concat();
        wanted.private_data = &data;
        Ok(id.core().connect(&wanted)?)
    };
    asynchronous(id, call)
}

/// Accepts a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_accept(id: Id<'_>, offered: Option<&rdma_conn_param>) -> c_int {
    let call = |id: Id<'_>| {
        // SAFETY: the caller guarantees the private data.
        let offered = offered.map(|offered| unsafe { parameters(id, offered) }).transpose()?;
        Ok(id.core().accept(offered.as_ref())?)
    };
    if id.core().is_datagram() {
        // No event follows.
        return guard::zero(|| {
            call(id)?;
            id.release_event();
            Ok(())
        });
    }
    asynchronous(id, call)
}

/// Rejects a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_reject(id: Id<'_>, data: *const c_void, length: u8) -> c_int {
    // SAFETY: as the caller guarantees.
    unsafe { reject(id, data, length, false) }
}

/// Rejects a request because of the options of the vendor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_reject_ece(
    id: Id<'_>,
    data: *const c_void,
    length: u8,
) -> c_int {
    // SAFETY: as the caller guarantees.
    unsafe { reject(id, data, length, true) }
}

unsafe fn reject(id: Id<'_>, data: *const c_void, length: u8, for_ece: bool) -> c_int {
    guard::zero(|| {
        // SAFETY: the caller guarantees valid private data.
        id.core().reject(unsafe { private_data(data, length) }?, for_ece)?;
        id.release_event();
        Ok(())
    })
}

/// Completes the connection of an identifier without a queue pair.
#[unsafe(no_mangle)]
pub extern "C" fn soft_rdma_establish(id: Id<'_>) -> c_int {
    guard::zero(|| Ok(id.core().establish()?))
}

/// Tells of an event of a queue pair (rdma_notify(3)). Connections are established without it, which is `EISCONN`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_notify(id: *mut rdma_cm_id, event: u32) -> c_int {
    /// `IBV_EVENT_COMM_EST`
    const ESTABLISHED: u32 = 4;
    guard::number(|| match event {
        ESTABLISHED if !id.is_null() => {
            Err(refused(libc::EISCONN, "rdma_notify is not needed: the connection is established"))
        }
        _ => Err(invalid(format!("cannot notify an identifier at {id:p} of event {event}"))),
    })
}

/// Ends a connection.
#[unsafe(no_mangle)]
pub extern "C" fn soft_rdma_disconnect(id: Id<'_>) -> c_int {
    guard::zero(|| {
        let is_first = id.core().disconnect()?;
        let outcome = if is_first { id.outcome() } else { id.outcome_if_any() };
        id.refresh()?;
        outcome
    })
}
