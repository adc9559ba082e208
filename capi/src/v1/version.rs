//! The calls of DAT 1.2 that differ from those of DAT 2.0.

use std::ptr::null_mut;

use crate::abi::*;
use crate::call;
use crate::result::CallResult;

/// No memory of an adapter outlives its close.
pub(crate) fn adapter_closed(_number: u64) {}

/// An adapter of a C provider was opened; DAT 1.2 need not examine it.
pub(crate) fn foreign_opened(_table: &DAT_PROVIDER, _ia: DAT_IA_HANDLE) {}

/// Rejects a connection request; DAT 1.2 passes no private data.
///
/// # Safety
/// The conditions of dat_cr_reject(3DAT).
pub(crate) unsafe fn cr_reject(cr_handle: DAT_CR_HANDLE) -> CallResult {
    // SAFETY: no data needs no memory.
    unsafe { call::cr::reject(cr_handle, 0, null_mut()) }
}
