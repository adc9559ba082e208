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

#[path = "../common/mod.rs"]
mod common;

mod base;
mod cno;
mod cr;
mod ep;
mod error;
mod event;
mod ia;
mod lmr;
mod provider;
mod provider_attr;
mod rmr;
mod srq;

pub use base::*;
pub use cno::*;
pub use common::*;
pub use cr::*;
pub use ep::*;
pub use error::*;
pub use event::*;
pub use ia::*;
pub use lmr::*;
pub use provider::*;
pub use provider_attr::*;
pub use rmr::*;
pub use srq::*;
