//! Protection zones.

use super::*;

pub(crate) unsafe fn create(ia_handle: DAT_IA_HANDLE, pz_handle: *mut DAT_PZ_HANDLE) -> CallResult {
    let ia = adapters::own(ia_handle)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(pz_handle, 2) }?;
    output.write(handle::attach(ia.pz_create()?, adapters::table(&ia)));
    OK
}

query_call! { Pz as DAT_PZ_PARAM, DAT_PZ_FIELD_ALL: |pz, pz_handle| {
    DAT_PZ_PARAM { ia_handle: adapters::handle_of(&pz.adapter()) }
}}

end_call! { Pz }
