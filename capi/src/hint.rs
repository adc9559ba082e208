//! The one line that the libraries print unasked: how to run a program that a rule refuses.
//!
//! It is printed at the first refusal, and not when the program ends: a program that fails often ends
//! by `abort` or by a signal of its launcher, after which no code of a library runs.

use std::sync::atomic::{AtomicBool, Ordering};

use dat_core::Compat;
use dat_core::error::{Error, Terms};

use crate::debug;

/// Prints once a process that a call was refused by a rule that a compatibility mode relaxes. Not if
/// the user has chosen a mode.
#[cold]
#[inline(never)]
pub(crate) fn refused(error: &Error) {
    static PRINTED: AtomicBool = AtomicBool::new(false);
    if PRINTED.swap(true, Ordering::Relaxed) {
        return;
    }
    if std::env::var_os(Compat::VARIABLE).is_some_and(|word| !word.is_empty()) {
        return;
    }
    Terms::C.make_current();
    debug::hint(&format!("{error} (printed once; DAT_DBG_TYPE=0 silences this)"));
}
