//! Connection requests.

use dat_core::Cr;

use super::*;
use crate::convert::address::adapter_to_c;

pub(crate) unsafe fn query(
    cr_handle: DAT_CR_HANDLE,
    cr_param_mask: DAT_CR_PARAM_MASK,
    cr_param: *mut DAT_CR_PARAM,
) -> CallResult {
    let request: Cr = object(cr_handle)?;
    mask(cr_param_mask, DAT_CR_FIELD_ALL, 2)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(cr_param, 3) }?;
    let param = request.query()?;
    let (address, data) = handle::storage_of::<Cr, _>(cr_handle, |kept| {
        let address = kept.remote_address.set(adapter_to_c(param.remote_address));
        (address, kept.private_data.write(&param.private_data))
    })?;
    let table = adapters::table(&request.adapter());
    output.write(DAT_CR_PARAM {
        remote_ia_address_ptr: address.cast(),
        remote_port_qual: param.remote_port,
        private_data_size: convert::count(param.private_data.len()),
        private_data: data.cast(),
        local_ep_handle: param.local_ep.map_or(DAT_HANDLE_NULL, |ep| handle::attach(ep, table)),
    });
    OK
}

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
