//! Public service points.

use dat_core::{EpProvision, Psp};

use super::*;

fn ep_provision(flags: DAT_PSP_FLAGS) -> Result<EpProvision> {
    match flags {
        DAT_PSP_CONSUMER_FLAG => Ok(EpProvision::Consumer),
        DAT_PSP_PROVIDER_FLAG => Ok(EpProvision::Provider),
        other => Err(invalid(4, format!("invalid DAT_PSP_FLAGS value {other:#x}"))),
    }
}

pub(crate) unsafe fn create(
    ia_handle: DAT_IA_HANDLE,
    conn_qual: DAT_CONN_QUAL,
    evd_handle: DAT_EVD_HANDLE,
    psp_flags: DAT_PSP_FLAGS,
    psp_handle: *mut DAT_PSP_HANDLE,
) -> CallResult {
    let ia = adapters::own(ia_handle)?;
    let evd = object_as(evd_handle, Subtype::InvalidHandleEvdCr)?;
    let ep_provision = ep_provision(psp_flags)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(psp_handle, 5) }?;
    let psp = ia.psp_create(conn_qual, &evd, ep_provision)?;
    output.write(handle::attach(psp, adapters::table(&ia)));
    OK
}

pub(crate) unsafe fn create_any(
    ia_handle: DAT_IA_HANDLE,
    conn_qual: *mut DAT_CONN_QUAL,
    evd_handle: DAT_EVD_HANDLE,
    psp_flags: DAT_PSP_FLAGS,
    psp_handle: *mut DAT_PSP_HANDLE,
) -> CallResult {
    let ia = adapters::own(ia_handle)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let qualifier_out = unsafe { out(conn_qual, 2) }?;
    let evd = object_as(evd_handle, Subtype::InvalidHandleEvdCr)?;
    let ep_provision = ep_provision(psp_flags)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(psp_handle, 5) }?;
    let psp = ia.psp_create_any(&evd, ep_provision)?;
    qualifier_out.write(psp.qualifier());
    output.write(handle::attach(psp, adapters::table(&ia)));
    OK
}

query_call! { Psp as DAT_PSP_PARAM, DAT_PSP_FIELD_ALL: |psp, psp_handle| {
    let param = psp.query()?;
    DAT_PSP_PARAM {
        ia_handle: adapters::handle_of(&psp.adapter()),
        conn_qual: param.qualifier,
        evd_handle: handle::of_number(param.evd.id()),
        psp_flags: match param.ep_provision {
            EpProvision::Consumer => DAT_PSP_CONSUMER_FLAG,
            EpProvision::Provider => DAT_PSP_PROVIDER_FLAG,
        },
    }
}}

end_call! { Psp }
