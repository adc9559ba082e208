//! Cancellation of C threads (pthread_cancel(3)).
//!
//! A cancellation unwinds the stack, so no Rust frame with a destructor may be on it. It can act in
//! two calls only, dat_evd_wait and dat_cno_wait, while their thread sleeps (`cancel.c`). Their own
//! frames, from the C function to the sleep, have no destructors ("plain"): the memory of a wait is
//! not dropped automatically, and the clean-up handler of the sleep drops it ([`block()`]). All other
//! code runs with cancellation disabled ([`hold_off`]), or calls no cancellation point.

mod agent;
mod block;
mod cancel_state;
mod sleep;
mod waits;

pub(crate) use agent::run_agent;
pub(crate) use block::block;
pub(crate) use cancel_state::{HeldOff, hold_off};
pub(crate) use waits::with_event;

use crate::abi::{DAT_RETURN, DAT_SUCCESS};
use crate::result::guard_data_path;
use cancel_state::defer;

/// Runs a call that may wait. Cancellation is disabled, except in the sleep itself. The caller's
/// frames must be plain.
#[inline(always)]
pub(crate) fn wait(
    at_once: impl FnOnce() -> Option<DAT_RETURN>,
    blocking: impl FnOnce(HeldOff) -> DAT_RETURN,
) -> DAT_RETURN {
    let state = hold_off();
    let mut blocks = false;
    let mut code = guard_data_path(|| {
        at_once().unwrap_or_else(|| {
            blocks = true;
            DAT_SUCCESS
        })
    });
    if blocks {
        // The sleep leaves the deferred type behind.
        let kind = defer();
        code = blocking(state);
        kind.resume();
    }
    state.resume();
    code
}
