//! The calls for the registry, as DAT 2.0 has them.

use crate::abi::*;
use crate::call_v2;
use crate::guard_call;

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_registry_providers_related(
    ia_name_1: DAT_NAME_PTR,
    ia_name_2: DAT_NAME_PTR,
    relationship: *mut DAT_HA_RELATIONSHIP,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_call("dat_registry_providers_related", || unsafe {
        call_v2::registry::providers_related(ia_name_1, ia_name_2, relationship)
    })
}
