//! Reserved service points.

use dat_core::Rsp;

use super::*;

pub(crate) unsafe fn create(
    ia_handle: DAT_IA_HANDLE,
    conn_qual: DAT_CONN_QUAL,
    ep_handle: DAT_EP_HANDLE,
    evd_handle: DAT_EVD_HANDLE,
    rsp_handle: *mut DAT_RSP_HANDLE,
) -> CallResult {
    let ia = adapters::own(ia_handle)?;
    let endpoint = optional_object(ep_handle, Subtype::InvalidHandleEp)?;
    let evd = object_as(evd_handle, Subtype::InvalidHandleEvdCr)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(rsp_handle, 5) }?;
    let rsp = ia.rsp_create(conn_qual, endpoint.as_ref(), &evd)?;
    output.write(handle::attach(rsp, adapters::table(&ia)));
    OK
}

query_call! { Rsp as DAT_RSP_PARAM, DAT_RSP_FIELD_ALL: |rsp, rsp_handle| {
    let param = rsp.query()?;
    let ia = rsp.adapter();
    DAT_RSP_PARAM {
        ia_handle: adapters::handle_of(&ia),
        conn_qual: param.qualifier,
        evd_handle: handle::of_number(param.evd.id()),
        // If the provider created the endpoint, this is where C first receives its handle.
        ep_handle: handle::attach(param.ep, adapters::table(&ia)),
    }
}}

end_call! { Rsp }
