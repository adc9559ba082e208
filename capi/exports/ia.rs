//! The calls for interface adapters.

use crate::abi::*;
use crate::call;
use crate::guard_call;
use crate::table;

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_ia_openv(
    ia_name: DAT_NAME_PTR,
    async_evd_min_qlen: DAT_COUNT,
    async_evd_handle: *mut DAT_EVD_HANDLE,
    ia_handle: *mut DAT_IA_HANDLE,
    dat_major: DAT_UINT32,
    dat_minor: DAT_UINT32,
    thread_safety: DAT_BOOLEAN,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_call("dat_ia_open", || unsafe {
        call::ia::openv(
            ia_name,
            async_evd_min_qlen,
            async_evd_handle,
            ia_handle,
            dat_major,
            dat_minor,
            thread_safety,
            table::functions,
        )
    })
}

calls! {
    guard fn dat_ia_query(
        ia_handle: DAT_IA_HANDLE,
        async_evd_handle: *mut DAT_EVD_HANDLE,
        ia_attr_mask: DAT_IA_ATTR_MASK,
        ia_attr: *mut DAT_IA_ATTR,
        provider_attr_mask: DAT_PROVIDER_ATTR_MASK,
        provider_attr: *mut DAT_PROVIDER_ATTR,
    ) = call::ia::query, ia_query_func of adapter;

    guard fn dat_ia_close(ia_handle: DAT_IA_HANDLE, close_flags: DAT_CLOSE_FLAGS)
        = call::ia::close, ia_close_func;
}
