//! The differences of DAT 1.2 from DAT 2.0.

use dat_core::attr::{IaAttributes, NamedAttr, ProviderAttributes};
use dat_core::error::{Result, ReturnType, Subtype};
use dat_core::provider::{Success, Taken};
use dat_core::{
    Cno, CrArrival, DatagramEvent, DtoCompletion, Endpoint, EpParam, LmrParam, RmrParam, RmrTriplet,
};

use crate::abi::*;
use crate::answer::Answer;
use crate::call::ep::Handles;
use crate::call::lmr::CreateCall;
use crate::call::rmr::BindCall;
use crate::convert::memory::memory_type;
use crate::handle::{Region, of_number};

/// The version of the API.
pub(crate) const VERSION: (u32, u32) = (DAT_VERSION_MAJOR, DAT_VERSION_MINOR);

/// Memory whose address C received, in addition to that of both versions.
pub(crate) type MoreKept = ();

/// Subtypes that DAT 2.0 inserted, which shifted the numbers of those after them.
const INSERTED: [Subtype; 2] = [Subtype::InvalidHandleCsp, Subtype::InvalidStateSrqShutdown];

/// The value of a failure. A code that DAT 1.2 does not have becomes the most similar one.
pub(crate) fn code(return_type: ReturnType, subtype: Subtype) -> DAT_RETURN {
    let return_type = match return_type {
        ReturnType::ReservedLmr => ReturnType::InvalidParameter,
        ReturnType::PortInUse => ReturnType::ConnQualInUse,
        ReturnType::CommNotSupported => ReturnType::ModelNotSupported,
        known => known,
    };
    return_type.class() | return_type.value() | subtype_value(subtype).unwrap_or(0)
}

fn subtype_value(subtype: Subtype) -> Option<u32> {
    if INSERTED.contains(&subtype) {
        return None;
    }
    let before = INSERTED.iter().filter(|inserted| inserted.value() < subtype.value()).count();
    Some(subtype.value() - before as u32)
}

/// The return type and subtype that a value denotes.
pub(crate) fn decode(value: DAT_RETURN) -> Option<(ReturnType, Subtype)> {
    let return_type = ReturnType::from_value(value & DAT_TYPE_MASK)?;
    if return_type.value() > DAT_CONN_QUAL_UNAVAILABLE {
        return None;
    }
    let mut subtypes = Subtype::ALL.iter();
    let subtype = subtypes.find(|it| subtype_value(**it) == Some(value & 0xffff))?;
    Some((return_type, *subtype))
}

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

/// No memory of an adapter outlives its close.
pub(crate) fn adapter_closed(_number: u64) {}

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

/// An adapter of a C provider was opened; DAT 1.2 need not examine it.
pub(crate) fn foreign_opened(_table: &DAT_PROVIDER, _ia: DAT_IA_HANDLE) {}

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

/// Registers memory.
///
/// # Safety
/// The conditions of dat_lmr_create(3DAT).
pub(crate) unsafe fn lmr_create(
    ia_handle: DAT_IA_HANDLE,
    mem_type: DAT_MEM_TYPE,
    region_desc: DAT_REGION_DESCRIPTION,
    length: DAT_VLEN,
    pz_handle: DAT_PZ_HANDLE,
    mem_priv: DAT_MEM_PRIV_FLAGS,
    lmr_handle: *mut DAT_LMR_HANDLE,
    lmr_context: *mut DAT_LMR_CONTEXT,
    rmr_context: *mut DAT_RMR_CONTEXT,
    registered_length: *mut DAT_VLEN,
    registered_address: *mut DAT_VADDR,
) -> Answer {
    foreign_adapter!(ia_handle, |ia| lmr_create_func(
        ia,
        mem_type,
        region_desc,
        length,
        pz_handle,
        mem_priv,
        lmr_handle,
        lmr_context,
        rmr_context,
        registered_length,
        registered_address
    ));
    let call = CreateCall {
        ia_handle,
        mem_type,
        region_desc,
        length,
        pz_handle,
        mem_priv,
        lmr_handle,
        lmr_context,
        rmr_context,
        registered_length,
        registered_address,
        first_out: 7,
    };
    // SAFETY: the caller keeps the contract of dat_lmr_create(3DAT), which `make` requires.
    unsafe { call.make() }
}

/// Binds a remote memory region.
///
/// # Safety
/// The conditions of dat_rmr_bind(3DAT).
pub(crate) unsafe fn rmr_bind(
    rmr_handle: DAT_RMR_HANDLE,
    lmr_triplet: *const DAT_LMR_TRIPLET,
    mem_priv: DAT_MEM_PRIV_FLAGS,
    ep_handle: DAT_EP_HANDLE,
    user_cookie: DAT_RMR_COOKIE,
    completion_flags: DAT_COMPLETION_FLAGS,
    rmr_context: *mut DAT_RMR_CONTEXT,
) -> Answer {
    foreign!(
        rmr_handle,
        rmr_bind_func(
            rmr_handle,
            lmr_triplet,
            mem_priv,
            ep_handle,
            user_cookie,
            completion_flags,
            rmr_context
        )
    );
    let call = BindCall {
        rmr_handle,
        lmr: None,
        lmr_triplet,
        mem_priv,
        ep_handle,
        user_cookie,
        completion_flags,
        rmr_context,
        arguments: (2, 7),
    };
    // SAFETY: the caller keeps the contract of dat_rmr_bind(3DAT), which `post` requires.
    unsafe { call.post() }.map_err(|error| {
        // The core numbers the arguments as DAT 2.0 does: there the local region precedes the
        // triplet, and the type of addresses precedes the endpoint.
        let subtype = match error.subtype() {
            Subtype::InvalidArg3 => Subtype::InvalidArg2,
            Subtype::InvalidArg8 => Subtype::InvalidArg6,
            other => other,
        };
        error.with_subtype(subtype)
    })
}

/// Makes a C provider reject a request.
///
/// # Safety
/// The conditions of dat_cr_reject(3DAT).
pub(crate) unsafe fn reject(
    table: &DAT_PROVIDER,
    cr_handle: DAT_CR_HANDLE,
    _private_data_size: DAT_COUNT,
    _private_data: DAT_PVOID,
) -> Answer {
    let slot = table.cr_reject_func;
    // SAFETY: the function belongs to the table of a loaded provider; the caller passes the
    // arguments of the call.
    let answered = slot.map(|it| unsafe { it(cr_handle) });
    crate::foreign::answer(answered)
}
