//! The result of a call: a `DAT_RETURN`, with the detail of a failure stored for the thread.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dat_core::error::{Error, ReturnType, Subtype};

use crate::abi::{DAT_CLASS_ERROR, DAT_RETURN, DAT_SUCCESS};
use crate::memory::shortage;
use crate::{cancel, codes, last_error};

/// The code that a call returns, or the error from which it is made. Codes of C providers are
/// passed on unchanged.
pub(crate) type CallResult = Result<DAT_RETURN, Error>;

/// The result of a successful call.
pub(crate) const OK: CallResult = Ok(DAT_SUCCESS);

/// The result of a call's implementation: a [`CallResult`], or directly its code.
pub(crate) trait ReturnValue {
    /// Converts the result of a call.
    fn new(result: CallResult) -> Self;

    /// The code for C. The detail of a failure has been stored when this returns.
    fn code(self) -> DAT_RETURN;
}

impl ReturnValue for CallResult {
    fn new(result: CallResult) -> Self {
        result
    }

    #[inline(always)]
    fn code(self) -> DAT_RETURN {
        self.unwrap_or_else(failed)
    }
}

/// For calls of the data path: a code is returned in a register, a `CallResult` in memory.
impl ReturnValue for DAT_RETURN {
    fn new(result: CallResult) -> Self {
        result.code()
    }

    #[inline(always)]
    fn code(self) -> DAT_RETURN {
        self
    }
}

/// Runs a call for C: no panic leaves it, and the detail of an error is stored. A cancellation of
/// the thread is held off until it has returned.
#[inline(always)]
pub(crate) fn guard<R: ReturnValue>(call: impl FnOnce() -> R) -> DAT_RETURN {
    let held_off = cancel::hold_off();
    let code = guard_data_path(call);
    held_off.resume();
    code
}

/// As [`guard`], for a call that needs memory that stays in use: refused while the allocator has no reserve.
pub(crate) fn grow<R: ReturnValue>(call: impl FnOnce() -> R) -> DAT_RETURN {
    guard(|| match shortage::check() {
        Ok(()) => call(),
        Err(refused) => R::new(Err(refused)),
    })
}

/// As [`guard`], for a call that the macro of the exported functions does not define: errors name it.
pub(crate) fn guard_call<R: ReturnValue>(
    name: &'static str,
    call: impl FnOnce() -> R,
) -> DAT_RETURN {
    let code = guard(call);
    if code & DAT_CLASS_ERROR != 0 {
        last_error::name_call(name);
    }
    code
}

/// As [`guard`], for calls of a few hundred instructions that contain no cancellation point.
#[inline(always)]
pub(crate) fn guard_data_path<R: ReturnValue>(call: impl FnOnce() -> R) -> DAT_RETURN {
    match catch_unwind(AssertUnwindSafe(|| call().code())) {
        Ok(code) => code,
        Err(panic) => panicked(panic),
    }
}

/// Stores the detail of an error; returns its code.
#[cold]
#[inline(never)]
pub(crate) fn failed(error: Error) -> DAT_RETURN {
    let code = codes::code(error.return_type(), error.subtype());
    last_error::set(error);
    code
}

/// As [`failed`], for an expected error: no debug output has it. It must name its call.
pub(crate) fn failed_quietly(error: Error) -> DAT_RETURN {
    let code = codes::code(error.return_type(), error.subtype());
    last_error::set_quietly(error);
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

/// The result of a poll that found nothing; it has no detail, so that polling is cheap.
pub(crate) fn plain(return_type: ReturnType) -> CallResult {
    Ok(codes::code(return_type, Subtype::NoSubtype))
}
