//! The creation of endpoints.

use std::ptr::null;

use dat_core::{EpAttributes, EpSpec};

use super::*;
use crate::convert::endpoint;

/// The specification of an endpoint, without its attributes and shared queue.
fn spec(
    pz: DAT_PZ_HANDLE,
    recv: DAT_EVD_HANDLE,
    request: DAT_EVD_HANDLE,
    connect: DAT_EVD_HANDLE,
) -> Result<EpSpec> {
    let mut spec = EpSpec::new(&object(pz)?);
    if let Some(evd) = optional_object(recv, Subtype::InvalidHandleEvdRecv)? {
        spec = spec.recv_evd(&evd);
    }
    if let Some(evd) = optional_object(request, Subtype::InvalidHandleEvdRequest)? {
        spec = spec.request_evd(&evd);
    }
    if let Some(evd) = optional_object(connect, Subtype::InvalidHandleEvdConn)? {
        spec = spec.connect_evd(&evd);
    }
    Ok(spec)
}

/// Creates an endpoint; without attributes it gets the provider's defaults.
fn create_by(ia: &Ia, mut spec: EpSpec, attributes: Option<EpAttributes>) -> Result<DAT_EP_HANDLE> {
    if let Some(attributes) = &attributes {
        spec = spec.attributes(attributes);
    }
    Ok(handle::attach(ia.ep_create(&spec)?, adapters::table(ia)))
}

/// The requested attributes of an endpoint; NULL for the provider's defaults.
///
/// # Safety
/// The address is NULL or that of readable attributes.
unsafe fn attributes(ep_attr: *const DAT_EP_ATTR, argument: u32) -> Result<Option<EpAttributes>> {
    // SAFETY: the caller guarantees that the address is NULL or that of readable attributes.
    let given = unsafe { argument::optional(ep_attr, argument) }?;
    // SAFETY: the lists in the attributes are as long as their counts say.
    given.map(|it| unsafe { endpoint::attributes_from_c(&it, argument) }).transpose()
}

pub(crate) unsafe fn create(
    ia_handle: DAT_IA_HANDLE,
    pz_handle: DAT_PZ_HANDLE,
    recv_evd_handle: DAT_EVD_HANDLE,
    request_evd_handle: DAT_EVD_HANDLE,
    connect_evd_handle: DAT_EVD_HANDLE,
    ep_attr: *const DAT_EP_ATTR,
    ep_handle: *mut DAT_EP_HANDLE,
) -> CallResult {
    let ia = adapters::own(ia_handle)?;
    let spec = spec(pz_handle, recv_evd_handle, request_evd_handle, connect_evd_handle)?;
    // SAFETY: the caller guarantees that the address is NULL or that of readable attributes.
    let attributes = unsafe { attributes(ep_attr, 6) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(ep_handle, 7) }?;
    output.write(create_by(&ia, spec, attributes)?);
    OK
}

pub(crate) unsafe fn create_with_srq(
    ia_handle: DAT_IA_HANDLE,
    pz_handle: DAT_PZ_HANDLE,
    recv_evd_handle: DAT_EVD_HANDLE,
    request_evd_handle: DAT_EVD_HANDLE,
    connect_evd_handle: DAT_EVD_HANDLE,
    srq_handle: DAT_SRQ_HANDLE,
    ep_attr: *const DAT_EP_ATTR,
    ep_handle: *mut DAT_EP_HANDLE,
) -> CallResult {
    let ia = adapters::own(ia_handle)?;
    let spec = spec(pz_handle, recv_evd_handle, request_evd_handle, connect_evd_handle)?;
    let srq = object(srq_handle)?;
    // SAFETY: the caller guarantees a readable struct, unless the check rejects the address.
    let given = unsafe { argument::optional(ep_attr, 7) }?;
    // The manual page says that this field is ignored, whatever it holds: the queue has the
    // segments.
    let given = given.map(|it| DAT_EP_ATTR { max_recv_iov: 0, ..it });
    // SAFETY: the caller guarantees that the address is NULL or that of readable attributes.
    let attributes = unsafe { attributes(given.as_ref().map_or(null(), |it| it), 7) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(ep_handle, 8) }?;
    output.write(create_by(&ia, spec.srq(&srq), attributes)?);
    OK
}
