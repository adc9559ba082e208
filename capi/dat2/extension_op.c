/*
 * The one variadic call: the number of its arguments depends on the operation. Stable Rust cannot
 * define variadic functions, so this function passes the arguments on as a va_list.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <stdarg.h>

#include <dat2/udat.h>

/* An entry of capi/abi/src/calls/v2/extension.rs. */
DAT_RETURN dats_extension_opv(DAT_HANDLE handle, DAT_EXTENDED_OP ext_op, va_list args);

DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP ext_op, ...)
{
    va_list args;
    DAT_RETURN result;

    va_start(args, ext_op);
    result = dats_extension_opv(handle, ext_op, args);
    va_end(args);
    return result;
}
