//! The handle of an adapter by its number, for providers.

use super::*;
use crate::{call, guard_call};

by_version! {
    { type Number = core::ffi::c_ulong; }
    { type Number = DAT_IA_HANDLE; }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dats_get_ia_handle(
    handle: Number,
    ia_handle_out: *mut DAT_IA_HANDLE,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_call("dats_get_ia_handle", || unsafe {
        call::ia::get_ia_handle(handle as DAT_IA_HANDLE, ia_handle_out)
    })
}
