//! The cases, one noun a file.

mod csp;
mod extension;
mod handoff;

use crate::case::Case;

/// Every case of the suite, grouped by noun.
#[must_use]
pub fn all() -> Vec<Case> {
    [csp::CASES, extension::CASES, handoff::CASES].concat()
}
