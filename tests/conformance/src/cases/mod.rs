//! The cases, one noun a file.

mod extension;
mod matrix_attributes;
mod matrix_handles;
mod matrix_states;
mod property_evd;
mod stress;

use crate::case::Case;

/// Every case of the suite, grouped by noun.
#[must_use]
pub fn all() -> Vec<Case> {
    [
        extension::CASES,
        matrix_attributes::CASES,
        matrix_handles::CASES,
        matrix_states::CASES,
        property_evd::CASES,
        stress::CASES,
    ]
    .concat()
}
