//! The relationship of adapters.

use dat_core::provider::Relationship;

use super::*;
use crate::call::ia::name;
use crate::registry;

pub(crate) unsafe fn providers_related(
    ia_name_1: DAT_NAME_PTR,
    ia_name_2: DAT_NAME_PTR,
    relationship: *mut DAT_HA_RELATIONSHIP,
) -> CallResult {
    // SAFETY: the caller guarantees a C string, unless the check rejects the address.
    let one = unsafe { name(ia_name_1, 1) }?;
    // SAFETY: the caller guarantees a C string, unless the check rejects the address.
    let other = unsafe { name(ia_name_2, 2) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(relationship, 3) }?;
    output.write(match registry::shared().providers_related(&one, &other)? {
        Relationship::Related => DAT_HA_TRUE,
        Relationship::Unrelated => DAT_HA_FALSE,
        Relationship::Unknown => DAT_HA_UNKNOWN,
        Relationship::Conflicting => DAT_HA_CONFLICTING,
    });
    OK
}
