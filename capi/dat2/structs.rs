//! The C structs of DAT 2.0 that differ from those of DAT 1.2.

use std::ffi::CStr;
use std::os::fd::AsRawFd;

use dat_core::attr::{IaAttributes, NamedAttr, ProviderAttributes};
use dat_core::error::Result;
use dat_core::provider::{Success, Taken};
use dat_core::{
    Cno, Comm, CrArrival, DatagramEvent, DtoCompletion, Endpoint, EpParam, LmrParam, RmrParam,
    RmrScope, RmrTriplet,
};

use crate::abi::*;
use crate::call2;
use crate::convert::endpoint::Handles;
use crate::convert::memory::memory_type;
use crate::convert::{Narrow, boolean};
use crate::handle::{Region, of_number};
use crate::kept::MoreKept;

/// Converts a remote segment.
#[inline]
pub(crate) fn remote_from_c(from: &DAT_RMR_TRIPLET) -> RmrTriplet {
    RmrTriplet {
        address: from.virtual_address,
        length: from.segment_length.into(),
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
        transfered_length: Narrow::narrow(done.length),
        operation: done.operation as DAT_DTOS,
        rmr_context: done.invalidated().unwrap_or(0),
    }
}

const _: () = {
    type Data = DAT_DTO_COMPLETION_EVENT_DATA;
    assert!(
        size_of::<Data>() == size_of::<Success>() && align_of::<Data>() >= align_of::<Success>()
    );
};

/// Takes a plain success directly into the data of a C event, which has the same layout.
#[inline(always)]
pub(crate) fn take(to: &mut DAT_EVENT_DATA, take: impl FnOnce(&mut Success) -> Taken) -> Taken {
    // SAFETY: both types have the same size and alignment (asserted above), and all bit patterns
    // are valid for both.
    take(unsafe { &mut *(&raw mut *to).cast::<Success>() })
}

/// Converts the data of a request that arrived.
pub(crate) fn arrival(
    sp_handle: DAT_SP_HANDLE,
    local_ia_address_ptr: DAT_IA_ADDRESS_PTR,
    conn_qual: DAT_CONN_QUAL,
    cr_handle: DAT_CR_HANDLE,
) -> DAT_CR_ARRIVAL_EVENT_DATA {
    DAT_CR_ARRIVAL_EVENT_DATA {
        sp_handle,
        local_ia_address_ptr,
        conn_qual,
        cr_handle,
        truncate_flag: DAT_FALSE,
    }
}

/// The handle of a common service point on which requests arrived.
pub(crate) fn common_service_point(number: u64) -> DAT_SP_HANDLE {
    DAT_SP_HANDLE { csp_handle: of_number(number) }
}

/// Adds the extension data of a completion.
pub(crate) fn extended_completion(done: &DtoCompletion, to: &mut DAT_EVENT) {
    call2::extension_event::completion(done, to);
}

/// Adds the extension data of a datagram request.
pub(crate) fn datagram_request(arrival: &CrArrival, to: &mut DAT_EVENT) {
    call2::extension_event::request(arrival, to);
}

/// Converts a datagram event.
pub(crate) fn datagram(event: &DatagramEvent, to: &mut DAT_EVENT) {
    call2::extension_event::datagram(event, to);
}

/// Fills in the attributes of an adapter that DAT 1.2 does not have.
pub(crate) fn more_of_adapter(from: &IaAttributes, to: &mut DAT_IA_ATTR) {
    to.zb_supported = boolean(from.zero_based_supported);
    to.extension_supported = DAT_EXTENSION_IB;
    to.extension_version = DAT_IB_EXTENSION_VERSION;
}

/// Fills in the attributes of a provider that DAT 1.2 does not have.
pub(crate) fn more_of_provider(from: &ProviderAttributes, to: &mut DAT_PROVIDER_ATTR) {
    to.rdma_read_lmr_rmr_context_exposure = DAT_FALSE;
    to.rmr_scope_supported = match (from.rmr_supported, from.rmr_scope_ep_supported) {
        (true, true) => DAT_RMR_SCOPE_ANY,
        (_, false) => DAT_RMR_SCOPE_PZ,
        (false, true) => DAT_RMR_SCOPE_EP,
    };
    to.is_signal_safe = DAT_FALSE;
    to.ha_supported = boolean(from.supports_multipath);
    to.ha_loadbalancing = DAT_HA_LB_NONE;
}

/// The named attributes of a provider, including its InfiniBand extensions, for which the struct
/// has no fields.
pub(crate) fn named_of_provider(from: &ProviderAttributes) -> Vec<NamedAttr> {
    let extensions = [
        (c"DAT_EXTENSION_INTERFACE", true),
        (DAT_IB_ATTR_COUNTERS, true),
        (DAT_IB_ATTR_FETCH_AND_ADD, from.atomics_supported),
        (DAT_IB_ATTR_CMP_AND_SWAP, from.atomics_supported),
        (DAT_IB_ATTR_IMMED_DATA, from.immediate_data_supported),
        (DAT_IB_ATTR_UD, from.datagrams_supported),
    ];
    let named = |(name, has): (&CStr, bool)| {
        NamedAttr::new(name.to_string_lossy(), if has { "TRUE" } else { "FALSE" })
    };
    from.provider_specific.iter().cloned().chain(extensions.map(named)).collect()
}

/// Fills in the parameters of an endpoint.
pub(crate) fn endpoint_param(
    endpoint: &Endpoint,
    param: &EpParam,
    (local, remote): (DAT_IA_ADDRESS_PTR, DAT_IA_ADDRESS_PTR),
    ep_attr: DAT_EP_ATTR,
) -> DAT_EP_PARAM {
    let handles = Handles::of(endpoint, param);
    let comm = Comm::for_address(param.local_address);
    DAT_EP_PARAM {
        ia_handle: handles.ia,
        ep_state: param.state as DAT_EP_STATE,
        comm: DAT_COMM { domain: comm.domain, r#type: comm.kind, protocol: comm.protocol },
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
    | DAT_EP_FIELD_COMM
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
        va_type: DAT_VA_TYPE_VA,
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
            virtual_address: triplet.address,
            segment_length: Narrow::narrow(triplet.length),
            lmr_context: triplet.context,
        },
        mem_priv: param.privileges.bits(),
        rmr_context: param.rmr_context,
        rmr_scope: match param.scope {
            RmrScope::Ep => DAT_RMR_SCOPE_EP,
            RmrScope::Pz => DAT_RMR_SCOPE_PZ,
        },
        va_type: DAT_VA_TYPE_VA,
    }
}

/// Fills in the parameters of a notification object.
pub(crate) fn cno_param(
    ia_handle: DAT_IA_HANDLE,
    cno: &Cno,
    agent: Option<DAT_OS_WAIT_PROXY_AGENT>,
    more: &MoreKept,
) -> Result<DAT_CNO_PARAM> {
    let (proxy_type, proxy) = match agent.filter(|agent| agent.proxy_agent_func.is_some()) {
        Some(agent) => (DAT_PROXY_TYPE_AGENT, DAT_CNO_PROXY { agent }),
        None if more.has_fd => (DAT_PROXY_TYPE_FD, DAT_CNO_PROXY { fd: cno.fd()?.as_raw_fd() }),
        None => (DAT_PROXY_TYPE_NONE, DAT_CNO_PROXY { none: DAT_HANDLE_NULL }),
    };
    Ok(DAT_CNO_PARAM { ia_handle, proxy_type, proxy })
}
