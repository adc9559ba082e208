//! The cases, one noun a file.

mod cno_fd;
mod contexts;
mod csp;
mod extension;
mod handoff;
mod invalidate;
mod multipath;
mod read_to_rmr;
mod registry;
mod related;
mod rmr_scope;
mod shared_memory;
mod sync;
mod watermark;

use crate::case::Case;

/// Every case of the suite, grouped by noun.
#[must_use]
pub fn all() -> Vec<Case> {
    [
        cno_fd::CASES,
        contexts::CASES,
        csp::CASES,
        extension::CASES,
        handoff::CASES,
        invalidate::CASES,
        multipath::CASES,
        read_to_rmr::CASES,
        registry::CASES,
        related::CASES,
        rmr_scope::CASES,
        shared_memory::CASES,
        sync::CASES,
        watermark::CASES,
    ]
    .concat()
}
