//! Extended operations.

use core::ffi::{c_int, c_void};

/// Code of an extended operation.
pub type DAT_EXTENDED_OP = c_int;
pub const DAT_OPEN_EXTENSION_BASE: DAT_EXTENDED_OP = 0x1000;
pub const DAT_CLOSE_EXTENSION_BASE: DAT_EXTENDED_OP = 0x2000;

// Says to a C program that the extended operations are declared.
pub const DAT_EXTENSIONS: c_int = 1;

/// C's `va_list` as it is passed to a function: points to the arguments, which only C code can
/// read.
pub type va_list = *mut c_void;
