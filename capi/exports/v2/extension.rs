//! Extended operations.

use crate::abi::*;
use crate::call2;
use crate::guard;

/// Performs an extended operation: dat_extension_op(3DAT) with a va_list.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dats_extension_opv(
    handle: DAT_HANDLE,
    ext_op: DAT_EXTENDED_OP,
    args: va_list,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call2::extension::opv(handle, ext_op, args) })
}
