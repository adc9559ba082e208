/*
 * The one call that takes as many arguments as its operation has. Rust has no variadic functions
 * on its stable compiler: here the arguments become a list, and Rust does the rest.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <stdarg.h>

#include <dat2/udat.h>

/* capi/exports/v2/extension.rs. */
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
