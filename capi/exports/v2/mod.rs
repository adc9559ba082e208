//! Everything that libdat2.so.2 exports, except the variadic dat_extension_op, which is written in
//! C.

#![allow(unreachable_pub, reason = "exported to C by name, not to Rust")]

#[path = "../mod.rs"]
mod common;

mod cno;
mod cr;
mod csp;
mod ep;
mod extension;
mod ia;
mod lmr;
mod post;
mod registry;
mod rmr;

pub use cno::*;
pub use common::*;
pub use cr::*;
pub use csp::*;
pub use ep::*;
pub use extension::*;
pub use lmr::*;
pub use post::*;
pub use rmr::*;
