//! The C types of DAT 2.0 and of its InfiniBand extensions.
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

/// Picks the second of two texts: that of this version (`common/versions.rs`).
macro_rules! by_version {
    ({ $($first:tt)* } { $($second:tt)* }) => { $($second)* };
}

#[macro_use]
#[path = "../common/mod.rs"]
mod common;

mod extension;
mod ib_collective;
mod ib_counter;
mod ib_event;
mod ib_op;
mod slots;

pub use common::*;
pub use extension::*;
pub use ib_collective::*;
pub use ib_counter::*;
pub use ib_event::*;
pub use ib_op::*;
pub use slots::*;
