//! Everything that libdat.so.1 exports.

#![allow(unreachable_pub, reason = "exported to C by name, not to Rust")]

#[macro_use]
#[path = "../mod.rs"]
mod common;

mod cr;
mod ia;
mod lmr;
mod rmr;

/// Fills in the slots of all calls.
pub(crate) fn fill(table: &mut crate::abi::DAT_PROVIDER) {
    common::fill(table);
    lmr::fill(table);
    rmr::fill(table);
    table.cr_reject_func = Some(cr::dat_cr_reject);
}
