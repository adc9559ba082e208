//! The handles that a child of `fork` inherits: their objects belong to its parent. A handler of
//! `fork` marks their cells in the child, so that no lookup finds them. So posts are refused there
//! too, and in a process that was not forked, lookups do no work for this.

use dat_sync::Process;

use super::chunks;
use super::object;
use crate::abi::DAT_HANDLE;

/// Runs in each child, whose other threads are gone. It stores to memory that is never freed.
pub(super) fn leave_to_parent() {
    chunks::for_each(|cell| cell.leave_to_parent());
}

/// The process to which the object of a handle belongs, if that is one from which this process was
/// forked.
pub(super) fn owner(handle: DAT_HANDLE) -> Option<Process> {
    object::owner(chunks::locate(handle.addr())?)
}
