//! The C types of DAT 1.2, in the flavour of Linux.
//!
//! All names are at the top of this module, as in C. The C headers are made from it.
//!
//! Enumerations are numbers with constants: a value that comes from C may be anything.

#![allow(
    non_camel_case_types,
    missing_docs,
    missing_debug_implementations,
    reason = "names, members and values are those of the C API and documented there; unions can't be shown"
)]

/// Picks the first of two texts: that of this version (`common/versions.rs`).
macro_rules! by_version {
    ({ $($first:tt)* } { $($second:tt)* }) => { $($first)* };
}

#[macro_use]
#[path = "../common/mod.rs"]
mod common;

mod slots;

pub use common::*;
pub use slots::*;
