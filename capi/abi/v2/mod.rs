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

#[path = "../common/mod.rs"]
mod common;

mod address;
mod base;
mod cno;
mod cr;
mod dto;
mod ep;
mod error;
mod evd;
mod event;
mod extension;
mod handle;
mod ia;
mod ib_collective;
mod ib_counter;
mod ib_event;
mod ib_op;
mod lmr;
mod provider;
mod provider_attr;
mod registry;
mod rmr;
mod service_point;
mod srq;

pub use address::*;
pub use base::*;
pub use cno::*;
pub use common::*;
pub use cr::*;
pub use dto::*;
pub use ep::*;
pub use error::*;
pub use evd::*;
pub use event::*;
pub use extension::*;
pub use handle::*;
pub use ia::*;
pub use ib_collective::*;
pub use ib_counter::*;
pub use ib_event::*;
pub use ib_op::*;
pub use lmr::*;
pub use provider::*;
pub use provider_attr::*;
pub use registry::*;
pub use rmr::*;
pub use service_point::*;
pub use srq::*;
