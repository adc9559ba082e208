//! Everything that libdat2.so.2 exports, except the variadic dat_extension_op, which is written in
//! C.

#![allow(unreachable_pub, reason = "exported to C by name, not to Rust")]

use crate::abi::*;

#[macro_use]
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

/// Fills in the slots of all calls.
pub(crate) fn fill(table: &mut DAT_PROVIDER) {
    common::fill(table);
    cno::fill(table);
    cr::fill(table);
    csp::fill(table);
    ep::fill(table);
    extension::fill(table);
    lmr::fill(table);
    post::fill(table);
    rmr::fill(table);
}
