//! The handler of SIGSEGV and SIGBUS.
#![allow(unsafe_code, reason = "a signal handler changes the registers of its thread")]

use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_int, c_void, siginfo_t};

use super::machine;
use super::previous::{self, Previous};

static IS_INSTALLED: AtomicBool = AtomicBool::new(false);

/// Installs the handler, once per process: a handler that is installed later may call this one.
pub(super) fn install() {
    if !machine::CAN_RECOVER || IS_INSTALLED.load(Ordering::Acquire) {
        return;
    }
    // Concurrent threads do the same here, and so does a child of fork.
    for previous in [&previous::SEGV, &previous::BUS] {
        previous.replace(handle);
    }
    // Pairs with the load above.
    IS_INSTALLED.store(true, Ordering::Release);
}

/// The handler. It calls only async-signal-safe functions.
///
/// # Safety
/// The kernel calls it.
unsafe extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes valid pointers, for the time of this call.
    let reported = unsafe { &*info };
    // SAFETY: as above.
    if previous::is_fault(signal, reported) && unsafe { machine::recover(reported, context) } {
        return;
    }
    if let Some(previous) = Previous::of(signal) {
        // SAFETY: as above.
        unsafe { previous.pass_on(info, context) };
    }
}
