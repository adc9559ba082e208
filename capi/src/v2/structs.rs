//! The C structs of DAT 2.0 that differ from those of DAT 1.2.

use std::ffi::CStr;
use std::os::fd::AsRawFd;

use dat_core::Cno;
use dat_core::attr::{IaAttributes, NamedAttr, ProviderAttributes};
use dat_core::error::Result;
#[cfg(target_pointer_width = "64")]
use dat_core::provider::plain_success::{PlainSuccess, TakeResult};

use crate::abi::*;
pub(crate) use crate::call_v2::extension_event::{
    completion as extended_completion, datagram, request as datagram_request,
};
use crate::convert::boolean;
// The handle of a C event has 32 bits there, unlike that of a plain success.
#[cfg(not(target_pointer_width = "64"))]
pub(crate) use crate::convert::event::take_and_convert as take;
use crate::storage::VersionStorage;

/// Takes a plain success directly into the data of a C event, which has the same layout.
#[cfg(target_pointer_width = "64")]
#[inline(always)]
pub(crate) fn take(
    to: &mut DAT_EVENT_DATA,
    take: impl FnOnce(&mut PlainSuccess) -> TakeResult,
) -> TakeResult {
    const {
        type Data = DAT_DTO_COMPLETION_EVENT_DATA;
        assert!(
            size_of::<Data>() == size_of::<PlainSuccess>()
                && align_of::<Data>() >= align_of::<PlainSuccess>()
        );
    }
    // SAFETY: both types have the same size and alignment (asserted above), and all bit patterns
    // are valid for both.
    take(unsafe { &mut *(&raw mut *to).cast::<PlainSuccess>() })
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

/// Fills in the parameters of a notification object.
pub(crate) fn cno_param(
    ia_handle: DAT_IA_HANDLE,
    cno: &Cno,
    agent: Option<DAT_OS_WAIT_PROXY_AGENT>,
    storage: &VersionStorage,
) -> Result<DAT_CNO_PARAM> {
    let (proxy_type, proxy) = match agent.filter(|agent| agent.proxy_agent_func.is_some()) {
        Some(agent) => (DAT_PROXY_TYPE_AGENT, DAT_CNO_PROXY { agent }),
        None if storage.has_fd => (DAT_PROXY_TYPE_FD, DAT_CNO_PROXY { fd: cno.fd()?.as_raw_fd() }),
        None => (DAT_PROXY_TYPE_NONE, DAT_CNO_PROXY { none: DAT_HANDLE_NULL }),
    };
    Ok(DAT_CNO_PARAM { ia_handle, proxy_type, proxy })
}
