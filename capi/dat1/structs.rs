//! The C structs of DAT 1.2 that differ from those of DAT 2.0.

use dat_core::attr::{IaAttributes, NamedAttr, ProviderAttributes};
use dat_core::error::Result;
use dat_core::provider::{Success, Taken};
use dat_core::{
    Cno, CrArrival, DatagramEvent, DtoCompletion, Endpoint, EpParam, LmrParam, RmrParam, RmrTriplet,
};

use crate::abi::*;
use crate::convert::endpoint::Handles;
use crate::convert::memory::memory_type;
use crate::handle::{Region, of_number};
use crate::kept::MoreKept;

/// Converts a remote segment.
#[inline]
pub(crate) fn remote_from_c(from: &DAT_RMR_TRIPLET) -> RmrTriplet {
    RmrTriplet {
        address: from.target_address,
        length: from.segment_length,
        context: from.rmr_context,
    }
}

/// Converts the data of a completion.
#[inline]
pub(crate) fn completion(done: &DtoCompletion) -> DAT_DTO_COMPLETION_EVENT_DATA {
    DAT_DTO_COMPLETION_EVENT_DATA {
        ep_handle: of_number(done.ep),
        user_cookie: DAT_CONTEXT { as_64: done.cookie },
        status: done.status.value(),
        transfered_length: done.length,
    }
}

/// Takes a plain success and converts it to the data of a C event.
#[inline(always)]
pub(crate) fn take(to: &mut DAT_EVENT_DATA, take: impl FnOnce(&mut Success) -> Taken) -> Taken {
    let mut success = Success::default();
    let taken = take(&mut success);
    if taken == Taken::Success {
        to.dto_completion_event_data = completion(&success.into());
    }
    taken
}

/// Converts the data of a request that arrived.
pub(crate) fn arrival(
    sp_handle: DAT_SP_HANDLE,
    local_ia_address_ptr: DAT_IA_ADDRESS_PTR,
    conn_qual: DAT_CONN_QUAL,
    cr_handle: DAT_CR_HANDLE,
) -> DAT_CR_ARRIVAL_EVENT_DATA {
    DAT_CR_ARRIVAL_EVENT_DATA { sp_handle, local_ia_address_ptr, conn_qual, cr_handle }
}

/// The handle of a common service point: no call of DAT 1.2 creates one.
pub(crate) fn common_service_point(number: u64) -> DAT_SP_HANDLE {
    DAT_SP_HANDLE { psp_handle: of_number(number) }
}

/// A completion of an operation of the extensions. No call of DAT 1.2 posts one, but a peer may
/// write with immediate data; the receive completes as any other.
pub(crate) fn extended_completion(_done: &DtoCompletion, _to: &mut DAT_EVENT) {}

/// A datagram request: no endpoint of DAT 1.2 can accept it.
pub(crate) fn datagram_request(_arrival: &CrArrival, to: &mut DAT_EVENT) {
    to.event_number = DAT_CONNECTION_REQUEST_EVENT;
}

/// A datagram event: no endpoint of DAT 1.2 carries datagrams.
pub(crate) fn datagram(_event: &DatagramEvent, _to: &mut DAT_EVENT) {}

/// DAT 1.2 has no further attributes of an adapter.
pub(crate) fn more_of_adapter(_from: &IaAttributes, _to: &mut DAT_IA_ATTR) {}

/// DAT 1.2 has no further attributes of a provider.
pub(crate) fn more_of_provider(_from: &ProviderAttributes, _to: &mut DAT_PROVIDER_ATTR) {}

/// The named attributes of a provider.
pub(crate) fn named_of_provider(from: &ProviderAttributes) -> Vec<NamedAttr> {
    from.provider_specific.clone()
}

/// Fills in the parameters of an endpoint.
pub(crate) fn endpoint_param(
    endpoint: &Endpoint,
    param: &EpParam,
    (local, remote): (DAT_IA_ADDRESS_PTR, DAT_IA_ADDRESS_PTR),
    ep_attr: DAT_EP_ATTR,
) -> DAT_EP_PARAM {
    let handles = Handles::of(endpoint, param);
    DAT_EP_PARAM {
        ia_handle: handles.ia,
        ep_state: param.state as DAT_EP_STATE,
        local_ia_address_ptr: local,
        local_port_qual: param.local_port,
        remote_ia_address_ptr: remote,
        remote_port_qual: param.remote_port.unwrap_or(0),
        pz_handle: handles.pz,
        recv_evd_handle: handles.recv_evd,
        request_evd_handle: handles.request_evd,
        connect_evd_handle: handles.connect_evd,
        srq_handle: handles.srq,
        ep_attr,
    }
}

/// The fields of an endpoint that dat_ep_modify does not change.
pub(crate) const EP_FIXED: DAT_EP_PARAM_MASK = DAT_EP_FIELD_IA_HANDLE
    | DAT_EP_FIELD_EP_STATE
    | DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR
    | DAT_EP_FIELD_LOCAL_PORT_QUAL
    | DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR
    | DAT_EP_FIELD_REMOTE_PORT_QUAL
    | DAT_EP_FIELD_SRQ_HANDLE;

/// Fills in the parameters of a local memory region.
pub(crate) fn lmr_param(
    ia_handle: DAT_IA_HANDLE,
    region: Region,
    param: &LmrParam,
) -> DAT_LMR_PARAM {
    DAT_LMR_PARAM {
        ia_handle,
        mem_type: memory_type(param.memory_type),
        region_desc: region.description,
        length: region.length,
        pz_handle: of_number(param.pz.id()),
        mem_priv: param.privileges.bits(),
        lmr_context: param.lmr_context,
        rmr_context: param.rmr_context,
        registered_size: param.registered_size,
        registered_address: param.registered_address,
    }
}

/// Fills in the parameters of a remote memory region.
pub(crate) fn rmr_param(
    ia_handle: DAT_IA_HANDLE,
    pz_handle: DAT_PZ_HANDLE,
    param: &RmrParam,
) -> DAT_RMR_PARAM {
    let triplet = param.lmr_triplet.unwrap_or_default();
    DAT_RMR_PARAM {
        ia_handle,
        pz_handle,
        lmr_triplet: DAT_LMR_TRIPLET {
            lmr_context: triplet.context,
            pad: 0,
            virtual_address: triplet.address,
            segment_length: triplet.length,
        },
        mem_priv: param.privileges.bits(),
        rmr_context: param.rmr_context,
    }
}

/// Fills in the parameters of a notification object.
pub(crate) fn cno_param(
    ia_handle: DAT_IA_HANDLE,
    _cno: &Cno,
    agent: Option<DAT_OS_WAIT_PROXY_AGENT>,
    _more: &MoreKept,
) -> Result<DAT_CNO_PARAM> {
    let none = DAT_OS_WAIT_PROXY_AGENT { instance_data: DAT_HANDLE_NULL, proxy_agent_func: None };
    Ok(DAT_CNO_PARAM { ia_handle, agent: agent.unwrap_or(none) })
}
