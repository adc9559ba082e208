//! Connection requests.

use dat_core::Cr;

use super::*;
use crate::convert::address::adapter_to_c;

query_call! { Cr as DAT_CR_PARAM, DAT_CR_FIELD_ALL: |request, cr_handle| {
    let param = request.query()?;
    let (address, data) = handle::storage_of::<Cr, _>(cr_handle, |kept| {
        let address = kept.remote_address.set(adapter_to_c(param.remote_address));
        (address, kept.private_data.write(&param.private_data))
    })?;
    let table = adapters::table(&request.adapter());
    DAT_CR_PARAM {
        remote_ia_address_ptr: address.cast(),
        remote_port_qual: param.remote_port,
        private_data_size: convert::count(param.private_data.len()),
        private_data: data.cast(),
        local_ep_handle: param.local_ep.map_or(DAT_HANDLE_NULL, |ep| handle::attach(ep, table)),
    }
}}

pub(crate) unsafe fn accept(
    cr_handle: DAT_CR_HANDLE,
    ep_handle: DAT_EP_HANDLE,
    private_data_size: DAT_COUNT,
    private_data: DAT_PVOID,
) -> CallResult {
    let request: Cr = object(cr_handle)?;
    let endpoint: Option<Ep> = optional_object(ep_handle, Subtype::InvalidHandleEp)?;
    // SAFETY: the caller guarantees that the data has the given size.
    let data = unsafe { argument::private_data(private_data_size, private_data, (3, 4)) }?;
    request.accept(endpoint.as_ref(), data)?;
    handle::reclaim();
    OK
}

pub(crate) unsafe fn reject(
    cr_handle: DAT_CR_HANDLE,
    private_data_size: DAT_COUNT,
    private_data: DAT_PVOID,
) -> CallResult {
    let request: Cr = object(cr_handle)?;
    // SAFETY: the caller guarantees that the data has the given size.
    let data = unsafe { argument::private_data(private_data_size, private_data, (2, 3)) }?;
    request.reject(data)?;
    handle::reclaim();
    OK
}

pub(crate) unsafe fn handoff(cr_handle: DAT_CR_HANDLE, conn_qual: DAT_CONN_QUAL) -> CallResult {
    end(cr_handle, |request: &Cr| request.handoff(conn_qual))
}
