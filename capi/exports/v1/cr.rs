//! The calls for connection requests, as DAT 1.2 has them.

use crate::abi::*;
use crate::call;
use crate::guard_call;

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_cr_reject(cr_handle: DAT_CR_HANDLE) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard_call("dat_cr_reject", || unsafe { call::cr::reject(cr_handle, 0, core::ptr::null_mut()) })
}
