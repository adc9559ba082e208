//! Why a call fails, on standard error, if the environment variable `SOFT_VERBS_LOG` is set: C has only an errno.

use std::io::Write;

use dat_soft_verbs::Error;
use dat_sync::Lazy;

static IS_WANTED: Lazy<bool> = Lazy::new(|| std::env::var_os("SOFT_VERBS_LOG").is_some());

/// Prints the text of an error.
#[cold]
pub(crate) fn failed(error: &Error) {
    if *IS_WANTED {
        // A program without standard error gets no log.
        let _ = writeln!(std::io::stderr(), "soft-verbs: {error}");
    }
}
