//! Extended operations.

use crate::abi::*;
use crate::call2;

calls! {
    /// Performs an extended operation: dat_extension_op(3DAT) with a va_list.
    guard fn dats_extension_opv(handle: DAT_HANDLE, ext_op: DAT_EXTENDED_OP, args: va_list)
        = call2::extension::opv, handle_extendedop_func;
}
