//! The cases, one noun a file.

mod datagram;
mod extension;
mod matrix_handles;
mod matrix_states;

use crate::case::Case;

/// The cases of each noun, in the order in which they are run.
#[rustfmt::skip]
const NOUNS: &[&[Case]] = &[
    datagram::CASES,
    extension::CASES,
    matrix_handles::CASES,
    matrix_states::CASES,
];

/// Every case of the suite, grouped by noun.
#[must_use]
pub fn all() -> Vec<Case> {
    NOUNS.concat()
}
