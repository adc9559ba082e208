//! The calls for interface adapters, as DAT 2.0 has them.

use crate::abi::*;
use crate::call;
use crate::guard_call;

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dats_get_ia_handle(
    handle: DAT_IA_HANDLE,
    ia_handle_out: *mut DAT_IA_HANDLE,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_call("dats_get_ia_handle", || unsafe { call::ia::get_ia_handle(handle, ia_handle_out) })
}
