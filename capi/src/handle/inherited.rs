//! The handles that a child of `fork` inherits: their objects belong to its parent. A handler of
//! `fork` marks their cells in the child, so that no lookup finds them. So posts are refused there
//! too, and in a process that was not forked, lookups do no work for this.

use dat_sync::Process;

use super::chunks;
use super::object;
use crate::abi::DAT_HANDLE;

/// Registers the handler, before the first handle is issued.
pub(super) fn start() {
    // SAFETY: the handler stores to memory that is never freed and makes no call, as a child of a
    // process with threads must; the library is never unloaded. If the handler cannot be registered,
    // the core refuses all calls but posts and dequeues.
    unsafe { libc::pthread_atfork(None, None, Some(leave_to_parent)) };
}

/// Runs in each child, whose other threads are gone.
extern "C" fn leave_to_parent() {
    chunks::for_each(|cell| cell.leave_to_parent());
}

/// The process to which the object of a handle belongs, if that is one from which this process was
/// forked.
pub(super) fn owner(handle: DAT_HANDLE) -> Option<Process> {
    object::owner(chunks::locate(handle.addr())?)
}
