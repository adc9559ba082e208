//! Ctrl-C: a long command ends early and prints what it has.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGINT;
use signal_hook::flag;

static REQUESTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on, the first Ctrl-C only sets a flag; a second one ends the process with status 130.
pub(crate) fn watch() {
    let requested = REQUESTED.get_or_init(Arc::default);
    // In this order: the first signal finds the flag not set yet.
    let done = flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(requested))
        .and_then(|_| flag::register(SIGINT, Arc::clone(requested)));
    if let Err(error) = done {
        // Ctrl-C ends the process as before.
        crate::output::complain(&format!("cannot watch for Ctrl-C: {error}"));
    }
}

/// Returns true if Ctrl-C was pressed since `watch`.
#[inline]
pub(crate) fn is_requested() -> bool {
    REQUESTED.get().is_some_and(|requested| requested.load(Ordering::Relaxed))
}
