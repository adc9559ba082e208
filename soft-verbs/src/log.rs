//! Why something fails, on standard error, if the environment variable `SOFT_VERBS_LOG` is set: C has only an errno, and
//! a completion only a status.

use std::fmt::Display;
use std::io::Write;

use dat_sync::Lazy;

static IS_WANTED: Lazy<bool> = Lazy::new(|| std::env::var_os("SOFT_VERBS_LOG").is_some());

/// Prints what was tried, on what, why it fails, and what to do.
#[cold]
pub fn explain(text: impl Display) {
    if *IS_WANTED {
        // A program without standard error gets no log.
        let _ = writeln!(std::io::stderr(), "soft-verbs: {text}");
    }
}
