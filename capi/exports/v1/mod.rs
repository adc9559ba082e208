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

/// Fills in the slots of all calls.
pub(crate) fn fill(table: &mut DAT_PROVIDER) {
    common::fill(table);
    cr::fill(table);
    lmr::fill(table);
    rmr::fill(table);
}
