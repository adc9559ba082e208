//! Objects of another process (ibv_import_device(3)). A context of this library has no command descriptor that another
//! process could use, so all of this is refused with `EOPNOTSUPP`.

use std::ffi::{c_int, c_void};

use rdma_verbs::sys::verbs::{ibv_context, ibv_mr, ibv_pd};

use crate::guard::{self, unsupported};

const TEXT: &str = "cannot import an object of another process: create it in this one";

/// Refused.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_import_device(_descriptor: c_int) -> *mut ibv_context {
    guard::object(|| Err(unsupported(TEXT)))
}

/// Refused.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_import_pd(_context: *mut ibv_context, _handle: u32) -> *mut ibv_pd {
    guard::object(|| Err(unsupported(TEXT)))
}

/// Does nothing: there are no imported domains.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_unimport_pd(_pd: *mut ibv_pd) {}

/// Refused.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_import_mr(_pd: *mut ibv_pd, _handle: u32) -> *mut ibv_mr {
    guard::object(|| Err(unsupported(TEXT)))
}

/// Does nothing: there are no imported regions.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_unimport_mr(_mr: *mut ibv_mr) {}

/// Refused.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_import_dm(_context: *mut ibv_context, _handle: u32) -> *mut c_void {
    guard::object(|| Err(unsupported(TEXT)))
}

/// Does nothing: there is no device memory.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_unimport_dm(_dm: *mut c_void) {}
