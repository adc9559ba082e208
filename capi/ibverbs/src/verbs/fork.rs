//! fork(2) (ibv_fork_init(3)). Regions are ordinary memory of the process, so there is nothing to prepare: a child
//! has copies of them, and opens the device for itself.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use libc::size_t;

/// `IBV_FORK_DISABLED` and `IBV_FORK_UNNEEDED`.
const DISABLED: c_int = 0;
const UNNEEDED: c_int = 2;

static IS_PREPARED: AtomicBool = AtomicBool::new(false);

/// Succeeds: every process may fork at any time.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_fork_init() -> c_int {
    IS_PREPARED.store(true, Ordering::Relaxed);
    0
}

/// `IBV_FORK_DISABLED` before `ibv_fork_init`, `IBV_FORK_UNNEEDED` afterwards.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_is_fork_initialized() -> c_int {
    if IS_PREPARED.load(Ordering::Relaxed) { UNNEEDED } else { DISABLED }
}

/// Succeeds and does nothing: a child keeps copies of registered memory.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_dontfork_range(_base: *mut c_void, _size: size_t) -> c_int {
    0
}

/// Succeeds and does nothing, as [`ibv_dontfork_range`].
#[unsafe(no_mangle)]
pub extern "C" fn ibv_dofork_range(_base: *mut c_void, _size: size_t) -> c_int {
    0
}
