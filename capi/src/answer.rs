//! What a call answers: a `DAT_RETURN`, with the detail of a failure kept for the thread.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dat_core::error::{Error, ReturnType, Subtype};

use crate::abi::{DAT_RETURN, DAT_SUCCESS};
use crate::{cancel, detail, dialect};

/// The code that a call answers, or the error that becomes one. Codes of foreign providers pass
/// through as they are.
pub(crate) type Answer = Result<DAT_RETURN, Error>;

/// What a call answers that did what it was asked to do.
pub(crate) const DONE: Answer = Ok(DAT_SUCCESS);

/// What a call may come back with: an [`Answer`], or at once the code of one.
pub(crate) trait Answered {
    /// From an answer.
    fn new(answer: Answer) -> Self;

    /// The code that C gets; the detail of a failure is kept by then.
    fn code(self) -> DAT_RETURN;
}

impl Answered for Answer {
    fn new(answer: Answer) -> Self {
        answer
    }

    #[inline(always)]
    fn code(self) -> DAT_RETURN {
        self.unwrap_or_else(failed)
    }
}

/// For calls of the data path: a code goes through a register, an answer through memory.
impl Answered for DAT_RETURN {
    fn new(answer: Answer) -> Self {
        answer.code()
    }

    #[inline(always)]
    fn code(self) -> DAT_RETURN {
        self
    }
}

/// Runs a call on behalf of C: no panic leaves it, and an error leaves its detail. A cancellation of
/// the thread waits until it has returned.
#[inline(always)]
pub(crate) fn guard<A: Answered>(call: impl FnOnce() -> A) -> DAT_RETURN {
    let held_off = cancel::hold_off();
    let code = guard_data_path(call);
    held_off.resume();
    code
}

/// As [`guard`], for calls of a few hundred instructions that make no call that is a cancellation
/// point.
#[inline(always)]
pub(crate) fn guard_data_path<A: Answered>(call: impl FnOnce() -> A) -> DAT_RETURN {
    match catch_unwind(AssertUnwindSafe(|| call().code())) {
        Ok(code) => code,
        Err(panic) => panicked(panic),
    }
}

/// Keeps the detail of an error; its code.
#[cold]
#[inline(never)]
pub(crate) fn failed(error: Error) -> DAT_RETURN {
    let code = dialect::code(error.return_type(), error.subtype());
    detail::keep(error);
    code
}

#[cold]
#[inline(never)]
fn panicked(panic: Box<dyn Any + Send>) -> DAT_RETURN {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("panic with no message");
    failed(
        Error::new(ReturnType::InternalError, Subtype::NoSubtype)
            .because(format!("internal error in the library: {text}")),
    )
}

/// The answer of a poll that found nothing: no detail, so that polling costs nothing.
pub(crate) fn plain(return_type: ReturnType) -> Answer {
    Ok(dialect::code(return_type, Subtype::NoSubtype))
}

/// The error of a handle that is no live object of its kind.
#[cold]
pub(crate) fn invalid_handle(subtype: Subtype) -> Error {
    Error::new(ReturnType::InvalidHandle, subtype)
}
