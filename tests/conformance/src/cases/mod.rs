//! The cases, one noun a file.

mod cno_fd;
mod contexts;
mod csp;
mod datagram;
mod extension;
mod handoff;
mod invalidate;
mod matrix_attributes;
mod matrix_handles;
mod matrix_states;
mod multipath;
mod read_to_rmr;
mod registry;
mod related;
mod rmr_scope;
mod shared_memory;
mod sync;
mod watermark;

use crate::case::Case;

/// The cases of each noun, in the order in which they are run.
#[rustfmt::skip]
const NOUNS: &[&[Case]] = &[
    cno_fd::CASES,
    contexts::CASES,
    csp::CASES,
    datagram::CASES,
    extension::CASES,
    handoff::CASES,
    invalidate::CASES,
    matrix_attributes::CASES,
    matrix_handles::CASES,
    matrix_states::CASES,
    multipath::CASES,
    read_to_rmr::CASES,
    registry::CASES,
    related::CASES,
    rmr_scope::CASES,
    shared_memory::CASES,
    sync::CASES,
    watermark::CASES,
];

/// Every case of the suite, grouped by noun.
#[must_use]
pub fn all() -> Vec<Case> {
    NOUNS.concat()
}
