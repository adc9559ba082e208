//! The calls for the registry.

use crate::abi::*;
use crate::call;
use crate::guard_call;

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_registry_list_providers(
    max_to_return: DAT_COUNT,
    entries_returned: *mut DAT_COUNT,
    provider_list: *mut *mut DAT_PROVIDER_INFO,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_call("dat_registry_list_providers", || unsafe {
        call::registry::list_providers(max_to_return, entries_returned, provider_list)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_registry_add_provider(
    provider: *const DAT_PROVIDER,
    provider_info: *const DAT_PROVIDER_INFO,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_call("dat_registry_add_provider", || unsafe {
        call::registry::add_provider(provider, provider_info)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_registry_remove_provider(
    provider: *const DAT_PROVIDER,
    provider_info: *const DAT_PROVIDER_INFO,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_call("dat_registry_remove_provider", || unsafe {
        call::registry::remove_provider(provider, provider_info)
    })
}

v2! {
    #[unsafe(no_mangle)]
    pub unsafe extern "C-unwind" fn dat_registry_providers_related(
        ia_name_1: DAT_NAME_PTR,
        ia_name_2: DAT_NAME_PTR,
        relationship: *mut DAT_HA_RELATIONSHIP,
    ) -> DAT_RETURN {
        // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
        guard_call("dat_registry_providers_related", || unsafe {
            crate::call_v2::registry::providers_related(ia_name_1, ia_name_2, relationship)
        })
    }
}
