//! The C types of DAT, in the flavour of Linux, and the table of calls.
//!
//! This source is compiled twice: for DAT 1.2 as the package `dat-abi-v1`, and for DAT 2.0 with its InfiniBand
//! extensions as `dat-abi-v2`, with `cfg(dat2)`. What differs is marked by the macros of `versions`.
//!
//! All names are at the top of this crate, as in C. The C headers are made from it.
//!
//! Enumerations are numbers with constants: a value that comes from C may be anything.

#![allow(
    non_camel_case_types,
    missing_docs,
    missing_debug_implementations,
    reason = "names, members and values are those of the C API and documented there; unions can't be shown"
)]

#[macro_use]
mod versions;
#[macro_use]
mod calls;

mod address;
mod base;
mod cno;
mod cr;
mod dto;
mod ep;
mod error;
mod evd;
mod event;
mod handle;
mod ia;
mod lmr;
mod provider;
mod provider_attr;
mod pz;
mod registry;
mod rmr;
mod service_point;
mod slots;
mod srq;
#[cfg(dat2)]
mod v2;

pub use address::*;
pub use base::*;
pub use cno::*;
pub use cr::*;
pub use dto::*;
pub use ep::*;
pub use error::*;
pub use evd::*;
pub use event::*;
pub use handle::*;
pub use ia::*;
pub use lmr::*;
pub use provider::*;
pub use provider_attr::*;
pub use pz::*;
pub use registry::*;
pub use rmr::*;
pub use service_point::*;
pub use slots::*;
pub use srq::*;
#[cfg(dat2)]
pub use v2::*;
