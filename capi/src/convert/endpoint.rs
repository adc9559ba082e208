//! Attributes and parameters of endpoints.

use dat_core::error::Result;
use dat_core::{CompletionFlags, Ep, EpAttributes, EpParam, Evd, Qos};

use super::{Narrow, attributes, count};
use crate::abi::*;
use crate::adapters;
use crate::handle::{self, CStorage};

/// Converts attributes to C; the lists belong to the object.
pub(crate) fn attributes_to_c(from: &EpAttributes, kept: &mut CStorage) -> DAT_EP_ATTR {
    let [transport, provider, _] = &mut kept.attributes;
    let (ep_transport_specific_count, ep_transport_specific) =
        transport.show(&from.transport_specific);
    let (ep_provider_specific_count, ep_provider_specific) = provider.show(&from.provider_specific);
    DAT_EP_ATTR {
        service_type: from.service_type,
        max_message_size: Narrow::narrow(from.max_message_size),
        max_rdma_size: Narrow::narrow(from.max_rdma_size),
        qos: from.qos.bits(),
        recv_completion_flags: from.recv_completion_flags.bits(),
        request_completion_flags: from.request_completion_flags.bits(),
        max_recv_dtos: count(from.max_recv_dtos),
        max_request_dtos: count(from.max_request_dtos),
        max_recv_iov: count(from.max_recv_iov),
        max_request_iov: count(from.max_request_iov),
        max_rdma_read_in: count(from.max_rdma_read_in),
        max_rdma_read_out: count(from.max_rdma_read_out),
        srq_soft_hw: from.srq_soft_hw as _,
        max_rdma_read_iov: count(from.max_rdma_read_iov),
        max_rdma_write_iov: count(from.max_rdma_write_iov),
        ep_transport_specific_count,
        ep_transport_specific,
        ep_provider_specific_count,
        ep_provider_specific,
    }
}

/// Converts the attributes that C passes as one of its arguments.
///
/// # Safety
/// The lists in it are as long as their counts say.
pub(crate) unsafe fn attributes_from_c(from: &DAT_EP_ATTR, argument: u32) -> Result<EpAttributes> {
    let (number, list) = (from.ep_transport_specific_count, from.ep_transport_specific);
    // SAFETY: the caller guarantees that the list is as long as its count says.
    let transport_specific = unsafe { attributes::from_c(number, list, argument) }?;
    let (number, list) = (from.ep_provider_specific_count, from.ep_provider_specific);
    // SAFETY: the caller guarantees that the list is as long as its count says.
    let provider_specific = unsafe { attributes::from_c(number, list, argument) }?;
    Ok(EpAttributes {
        service_type: from.service_type,
        max_message_size: from.max_message_size.widen(),
        max_rdma_size: from.max_rdma_size.widen(),
        qos: Qos::from_bits_retain(from.qos),
        recv_completion_flags: CompletionFlags::from_bits_retain(from.recv_completion_flags),
        request_completion_flags: CompletionFlags::from_bits_retain(from.request_completion_flags),
        max_recv_dtos: unsigned(from.max_recv_dtos),
        max_request_dtos: unsigned(from.max_request_dtos),
        max_recv_iov: unsigned(from.max_recv_iov),
        max_request_iov: unsigned(from.max_request_iov),
        max_rdma_read_in: unsigned(from.max_rdma_read_in),
        max_rdma_read_out: unsigned(from.max_rdma_read_out),
        srq_soft_hw: unsigned(from.srq_soft_hw),
        max_rdma_read_iov: unsigned(from.max_rdma_read_iov),
        max_rdma_write_iov: unsigned(from.max_rdma_write_iov),
        transport_specific,
        provider_specific,
    })
}

/// Converts a count; only the core knows whether the attribute matters for the endpoint. A negative
/// count becomes a number beyond the limits of every adapter.
const fn unsigned(count: DAT_COUNT) -> u32 {
    count as u32
}

/// Changes the attributes that a mask names.
///
/// # Safety
/// The lists that the mask names are as long as their counts say.
pub(crate) unsafe fn change_attributes(
    to: &mut EpAttributes,
    mask: DAT_EP_PARAM_MASK,
    from: &DAT_EP_ATTR,
) -> Result<()> {
    const ARGUMENT: u32 = 3;
    let named = |bit| mask & bit != 0;
    if named(DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE) {
        to.service_type = from.service_type;
    }
    if named(DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE) {
        to.max_message_size = from.max_message_size.widen();
    }
    if named(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE) {
        to.max_rdma_size = from.max_rdma_size.widen();
    }
    if named(DAT_EP_FIELD_EP_ATTR_QOS) {
        to.qos = Qos::from_bits_retain(from.qos);
    }
    if named(DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS) {
        to.recv_completion_flags = CompletionFlags::from_bits_retain(from.recv_completion_flags);
    }
    if named(DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS) {
        to.request_completion_flags =
            CompletionFlags::from_bits_retain(from.request_completion_flags);
    }
    let write_iov = from.max_rdma_write_iov;
    for (bit, attribute, value) in [
        (DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &mut to.max_recv_dtos, from.max_recv_dtos),
        (DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &mut to.max_request_dtos, from.max_request_dtos),
        (DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &mut to.max_recv_iov, from.max_recv_iov),
        (DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, &mut to.max_request_iov, from.max_request_iov),
        (DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, &mut to.max_rdma_read_in, from.max_rdma_read_in),
        (DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, &mut to.max_rdma_read_out, from.max_rdma_read_out),
        (DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV, &mut to.max_rdma_read_iov, from.max_rdma_read_iov),
        (DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV, &mut to.max_rdma_write_iov, write_iov),
        (DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &mut to.srq_soft_hw, from.srq_soft_hw),
    ] {
        if named(bit) {
            *attribute = unsigned(value);
        }
    }
    if named(DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR) {
        let (number, list) = (from.ep_transport_specific_count, from.ep_transport_specific);
        // SAFETY: the caller guarantees that the list is as long as its count says.
        to.transport_specific = unsafe { attributes::from_c(number, list, ARGUMENT) }?;
    }
    if named(DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR) {
        let (number, list) = (from.ep_provider_specific_count, from.ep_provider_specific);
        // SAFETY: the caller guarantees that the list is as long as its count says.
        to.provider_specific = unsafe { attributes::from_c(number, list, ARGUMENT) }?;
    }
    Ok(())
}

/// The parameters of an endpoint, with its local and remote address.
pub(crate) fn param_to_c(
    endpoint: &Ep,
    param: &EpParam,
    (local_ia_address_ptr, remote_ia_address_ptr): (DAT_IA_ADDRESS_PTR, DAT_IA_ADDRESS_PTR),
    ep_attr: DAT_EP_ATTR,
) -> DAT_EP_PARAM {
    let evd =
        |evd: &Option<Evd>| evd.as_ref().map_or(DAT_HANDLE_NULL, |evd| handle::of_number(evd.id()));
    value! { DAT_EP_PARAM {
        ia_handle: adapters::handle_of(&endpoint.adapter()),
        ep_state: param.state as DAT_EP_STATE,
        v2 { comm: {
            let comm = dat_core::Comm::for_address(param.local_address);
            DAT_COMM { domain: comm.domain, r#type: comm.kind, protocol: comm.protocol }
        }, }
        local_ia_address_ptr,
        local_port_qual: param.local_port,
        remote_ia_address_ptr,
        remote_port_qual: param.remote_port.unwrap_or(0),
        pz_handle: param.pz.as_ref().map_or(DAT_HANDLE_NULL, |pz| handle::of_number(pz.id())),
        recv_evd_handle: evd(&param.recv_evd),
        request_evd_handle: evd(&param.request_evd),
        connect_evd_handle: evd(&param.connect_evd),
        srq_handle: param.srq.as_ref().map_or(DAT_HANDLE_NULL, |srq| handle::of_number(srq.id())),
        ep_attr,
    } }
}
