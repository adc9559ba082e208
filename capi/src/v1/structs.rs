//! The C structs of DAT 1.2 that differ from those of DAT 2.0.

use dat_core::attr::{IaAttributes, NamedAttr, ProviderAttributes};
use dat_core::error::Result;
use dat_core::{Cno, DatagramEvent, DtoCompletion};

use crate::abi::*;
pub(crate) use crate::convert::event::take_and_convert as take;
use crate::storage::VersionStorage;

/// A completion of an operation of the extensions. No call of DAT 1.2 posts one, but a peer may
/// write with immediate data; the receive completes as any other.
pub(crate) fn extended_completion(_done: &DtoCompletion, _to: &mut DAT_EVENT) {}

/// A datagram request: no endpoint of DAT 1.2 can accept it.
pub(crate) fn datagram_request(to: &mut DAT_EVENT) {
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

/// Fills in the parameters of a notification object.
pub(crate) fn cno_param(
    ia_handle: DAT_IA_HANDLE,
    _cno: &Cno,
    agent: Option<DAT_OS_WAIT_PROXY_AGENT>,
    _storage: &VersionStorage,
) -> Result<DAT_CNO_PARAM> {
    let none = DAT_OS_WAIT_PROXY_AGENT { instance_data: DAT_HANDLE_NULL, proxy_agent_func: None };
    Ok(DAT_CNO_PARAM { ia_handle, agent: agent.unwrap_or(none) })
}
