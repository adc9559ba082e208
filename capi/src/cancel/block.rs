//! A wait that blocks, in frames without destructors.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dat_core::blocking::{SleepResult, WaitStep};
use dat_core::error::Result;

use super::cancel_state::HeldOff;
use super::sleep::Sleep;
use super::waits::Wait;
use crate::abi::{DAT_CLASS_ERROR, DAT_RETURN};
use crate::last_error;
use crate::result::{CallResult, OK, guard_data_path};

/// Begins a wait, sleeps as long as necessary, and returns the result. The thread can be cancelled
/// while it sleeps, if its caller's state allows it; then the wait is abandoned. Errors name the
/// call. The frames of this function and of its callers are plain.
#[cold]
#[inline(never)]
pub(crate) fn block<W: Wait>(
    caller: HeldOff,
    call: &'static str,
    start: impl FnOnce() -> Result<WaitStep<W::Found, W>>,
    to_result: impl Fn(Result<W::Found>) -> CallResult,
) -> DAT_RETURN {
    let mut sleeper =
        Sleeper { wait: MaybeUninit::uninit(), sleep: Sleep::new(caller), is_blocked: false };
    let mut code = guard_data_path(|| sleeper.advance(start(), &to_result));
    while sleeper.is_blocked {
        let wait = sleeper.wait.as_mut_ptr().cast();
        // SAFETY: `is_blocked` says that the wait is initialised and that the sleep was prepared for
        // it. Both are in this frame, and the wait is not used after `give_up` has dropped it.
        let outcome = unsafe { sleeper.sleep.sleep(give_up::<W>, wait) };
        code = guard_data_path(|| {
            sleeper.is_blocked = false;
            // SAFETY: `is_blocked` says that the wait is initialised; it is read once, since
            // `is_blocked` was reset.
            let wait = unsafe { sleeper.wait.assume_init_read() };
            sleeper.advance(wait.resume(outcome), &to_result)
        });
    }
    if code & DAT_CLASS_ERROR != 0 {
        last_error::name_call(call);
    }
    code
}

/// A wait and its next sleep, in a frame that may be unwound: nothing here is dropped
/// automatically.
struct Sleeper<W> {
    wait: MaybeUninit<W>,
    sleep: Sleep,
    /// True if the wait is initialised and has to sleep.
    is_blocked: bool,
}

impl<W: Wait> Sleeper<W> {
    /// Continues until there is a result, or the thread has to sleep.
    fn advance(
        &mut self,
        mut step: Result<WaitStep<W::Found, W>>,
        to_result: impl Fn(Result<W::Found>) -> CallResult,
    ) -> CallResult {
        loop {
            match step {
                Ok(WaitStep::Blocked(mut wait)) => {
                    if self.sleep.prepare(&mut wait) {
                        self.wait.write(wait);
                        self.is_blocked = true;
                        return OK;
                    }
                    step = wait.resume(SleepResult::Woken);
                }
                Ok(WaitStep::Done(found)) => return to_result(Ok(found)),
                Err(error) => return to_result(Err(error)),
            }
        }
    }
}

/// Abandons a wait whose thread was cancelled while it slept.
unsafe extern "C" fn give_up<W>(wait: *mut c_void) {
    let wait = wait.cast::<W>();
    // A panic of a thread that ends is ignored.
    // SAFETY: the pointer is that of the initialised wait of a sleep, which is not used again.
    let _ = catch_unwind(AssertUnwindSafe(|| unsafe { wait.drop_in_place() }));
}
