//! Everything that libdat.so.1 exports.

#![allow(unreachable_pub, reason = "exported to C by name, not to Rust")]

#[path = "../mod.rs"]
mod common;

mod cr;
mod ia;
mod lmr;
mod rmr;

pub use common::*;
pub use cr::*;
pub use lmr::*;
pub use rmr::*;
