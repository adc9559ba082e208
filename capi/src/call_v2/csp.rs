//! Common service points.

use dat_core::{Comm, Csp};

use super::*;
use crate::convert::address;
use crate::handle::object_as;

pub(crate) unsafe fn create(
    ia_handle: DAT_IA_HANDLE,
    comm: *mut DAT_COMM,
    address_ptr: DAT_IA_ADDRESS_PTR,
    evd_handle: DAT_EVD_HANDLE,
    csp_handle: *mut DAT_CSP_HANDLE,
) -> CallResult {
    let ia = adapters::own(ia_handle)?;
    // SAFETY: the caller guarantees a readable struct, unless the check rejects the address.
    let comm = unsafe { given(comm.cast_const(), 2) }?;
    // SAFETY: the caller guarantees a socket address, unless the check rejects it.
    let address = unsafe { address::from_c(address_ptr, 3) }?;
    let evd = object_as(evd_handle, Subtype::InvalidHandleEvdCr)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(csp_handle, 5) }?;
    let comm = Comm { domain: comm.domain, kind: comm.r#type, protocol: comm.protocol };
    let csp = ia.csp_create(comm, address, &evd)?;
    output.write(handle::attach(csp, adapters::table(&ia)));
    OK
}

query_call! { Csp as DAT_CSP_PARAM, DAT_CSP_FIELD_ALL: |csp, csp_handle| {
    let param = csp.query()?;
    let (comm, address) = handle::storage_of::<Csp, _>(csp_handle, |kept| {
        let comm = param.comm;
        let comm = kept.more.comm.set([comm.domain, comm.kind, comm.protocol]);
        (comm, kept.local_address.set(address::to_c(param.address)))
    })?;
    DAT_CSP_PARAM {
        ia_handle: adapters::handle_of(&csp.adapter()),
        // A struct of three numbers in this order.
        comm: comm.cast(),
        address_ptr: address.cast(),
        evd_handle: handle::of_number(param.evd.id()),
    }
}}

end_call! { Csp }
