//! The cases, one noun a file.

mod datagram;
mod extension;
mod matrix_states;

use crate::case::Case;

/// Every case of the suite, grouped by noun.
#[must_use]
pub fn all() -> Vec<Case> {
    [datagram::CASES, extension::CASES, matrix_states::CASES].concat()
}
