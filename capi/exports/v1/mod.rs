//! Everything that libdat.so.1 exports.

#![allow(unreachable_pub, reason = "exported to C by name, not to Rust")]

use crate::abi::*;

#[macro_use]
#[path = "../mod.rs"]
mod common;

mod cr;
mod ia;
mod lmr;
mod rmr;

fill! { common cr lmr rmr }
