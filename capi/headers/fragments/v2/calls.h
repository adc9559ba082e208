/* Performs an extended operation (dat_extension_op(3DAT)). */
DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP ext_op, ...);
