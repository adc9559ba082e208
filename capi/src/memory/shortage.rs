//! The result of a call when the system refused memory.

use dat_core::error::{Error, ReturnType, Subtype};

use dat_sync::shortage;

use super::reserve;
use crate::abi::{DAT_RETURN, DAT_SUCCESS};
use crate::result::failed;

/// Refuses a call that needs memory until the reserve is full again.
#[inline(always)]
pub(crate) fn check() -> Result<(), Error> {
    if shortage::persists() { Err(refused()) } else { Ok(()) }
}

#[cold]
fn refused() -> Error {
    error("the system refused memory before, and the reserve of the library has not been refilled")
}

#[cold]
fn error(reason: &'static str) -> Error {
    Error::new(ReturnType::InsufficientResources, Subtype::ResourceMemory)
        .because(reason)
        .advise("free memory of the process, and call again")
}

/// How much of the reserve this thread had taken when a call began.
pub(crate) struct Mark(u32);

impl Mark {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self(reserve::taken())
    }

    /// Returns true if the thread has taken memory of the reserve since.
    #[inline(always)]
    pub(crate) fn is_passed(&self) -> bool {
        reserve::taken() != self.0
    }
}

/// The error of a call that freed what it had created with memory of the reserve.
#[cold]
pub(crate) fn undone() -> Error {
    error("the system refused memory; what the call had created was freed again")
}

/// Runs a call that creates an object. If it succeeded with memory of the reserve, `undo` frees the object,
/// and the call fails.
#[inline(always)]
pub(crate) fn or_undo(
    name: &'static str,
    call: impl FnOnce() -> DAT_RETURN,
    undo: impl FnOnce() -> DAT_RETURN,
) -> DAT_RETURN {
    let mark = Mark::new();
    let code = call();
    if code == DAT_SUCCESS && mark.is_passed() { fail_after(name, undo) } else { code }
}

#[cold]
#[inline(never)]
fn fail_after(name: &'static str, undo: impl FnOnce() -> DAT_RETURN) -> DAT_RETURN {
    // It fails only if another thread has guessed the handle, and freed the object or used it.
    undo();
    failed(undone().during(name))
}
