//! Protection zones.

use super::*;

pub(crate) unsafe fn create(ia_handle: DAT_IA_HANDLE, pz_handle: *mut DAT_PZ_HANDLE) -> CallResult {
    let ia = adapters::own(ia_handle)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(pz_handle, 2) }?;
    output.write(handle::attach(ia.pz_create()?, adapters::table(&ia)));
    OK
}

pub(crate) unsafe fn query(
    pz_handle: DAT_PZ_HANDLE,
    pz_param_mask: DAT_PZ_PARAM_MASK,
    pz_param: *mut DAT_PZ_PARAM,
) -> CallResult {
    let pz: Pz = object(pz_handle)?;
    mask(pz_param_mask, DAT_PZ_FIELD_ALL, 2)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(pz_param, 3) }?;
    output.write(DAT_PZ_PARAM { ia_handle: adapters::handle_of(&pz.adapter()) });
    OK
}

end_call! { Pz }
