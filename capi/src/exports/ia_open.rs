//! Opening an interface adapter; the macro of the headers gives it the name dat_ia_open.

use super::*;
use crate::{call, guard_call, table};

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
