//! What answers in the place of functions that have no meaning here. The tables in `symbols` say which they are;
//! `link/trampolines` makes each of them a jump to one of these functions. All return a failure with an errno.
//!
//! - Hidden symbols of version `IBVERBS_1.0` are for programs that were compiled in 2006, for structures that differ
//!   from those of today. They begin with `ibv_get_device_list`, which fails with `ENOSYS`, and get no further.
//! - Functions of `IBVERBS_PRIVATE_34` are for the drivers of devices. A program such as perftest is linked with two of
//!   these, libmlx5.so.1 and libefa.so.1, which must find the functions when they are loaded; they call only the one that
//!   registers them. The others fail with `EOPNOTSUPP`.

use std::ffi::{c_int, c_void};

use crate::guard::{self, refused, unsupported};

const OLD: &str = "the program was linked with libibverbs 1.0: link it with the library of today";
const DRIVER: &str = "cannot call the kernel for a driver (ibv_cmd_*): the device has neither";

/// Calls of version 1.0 that return an object.
#[unsafe(no_mangle)]
pub extern "C" fn soft_verbs_old_object() -> *mut c_void {
    guard::object(|| Err(refused(libc::ENOSYS, OLD)))
}

/// Calls of version 1.0 that return 0 or an errno, or nothing.
#[unsafe(no_mangle)]
pub extern "C" fn soft_verbs_old_call() -> c_int {
    guard::status(|| Err(refused(libc::ENOSYS, OLD)))
}

/// `ibv_register_driver` of version 1.1, which rdma-core itself ignores.
#[unsafe(no_mangle)]
pub extern "C" fn soft_verbs_old_nothing() {}

/// Calls of drivers that return an object.
#[unsafe(no_mangle)]
pub extern "C" fn soft_verbs_driver_object() -> *mut c_void {
    guard::object(|| Err(unsupported(DRIVER)))
}

/// Calls of drivers that return 0 or an errno.
#[unsafe(no_mangle)]
pub extern "C" fn soft_verbs_driver_call() -> c_int {
    guard::status(|| Err(unsupported(DRIVER)))
}

/// Calls of drivers that return nothing, on objects that no driver of this library has.
#[unsafe(no_mangle)]
pub extern "C" fn soft_verbs_driver_nothing() {}

/// A driver registers itself when it is loaded. It is ignored: it drives devices, and there are none.
#[unsafe(no_mangle)]
pub extern "C" fn verbs_register_driver_34(_operations: *const c_void) {}

/// A variable of drivers: whether objects of a device that was removed may be destroyed.
#[unsafe(no_mangle)]
#[used]
pub static verbs_allow_disassociate_destroy: std::sync::atomic::AtomicBool =
    std::sync::atomic::AtomicBool::new(false);
