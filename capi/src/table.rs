//! The function table to which Rust objects point, for programs that use the redirection macros.

use std::ffi::c_char;

use crate::abi::*;
use crate::call;
use crate::exports;
use crate::guard_call;

/// Opens an adapter for a caller that uses the provider's own address of it.
unsafe extern "C-unwind" fn ia_open(
    name: DAT_NAME_PTR,
    async_evd_min_qlen: DAT_COUNT,
    async_evd_handle: *mut DAT_EVD_HANDLE,
    ia_handle: *mut DAT_IA_HANDLE,
) -> DAT_RETURN {
    guard_call("dat_ia_open", || {
        // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
        unsafe {
            call::ia::open_by_table(
                name,
                async_evd_min_qlen,
                async_evd_handle,
                ia_handle,
                functions,
            )
        }
    })
}

/// The functions of a Rust provider, with the name of an adapter.
pub(crate) fn functions(device_name: *const c_char) -> DAT_PROVIDER {
    // SAFETY: the struct has only addresses and optional functions, for which zero is valid.
    let mut table: DAT_PROVIDER = unsafe { std::mem::zeroed() };
    table.device_name = device_name;
    table.ia_open_func = Some(ia_open);
    exports::fill(&mut table);
    table
}
