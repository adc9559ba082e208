//! Extended operations.

table! { ($) extension_calls {
    guard fn dats_extension_opv(handle: DAT_HANDLE, ext_op: DAT_EXTENDED_OP, args: va_list)
        = call_v2::extension::opv, handle_extendedop_func: DAT_HANDLE_EXTENDEDOP_FUNC;
}}
