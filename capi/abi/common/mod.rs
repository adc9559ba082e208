//! The types of both versions of the API.
//!
//! What differs is marked by the macros of `versions`. A type that is the same in text can still
//! differ in layout, since `use super::*` finds the members' types of the version that mounts this
//! module.

use super::*;

#[macro_use]
mod versions;

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
#[macro_use]
mod slots;
mod srq;

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
