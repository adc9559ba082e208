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

pub(crate) use common::{
    dat_cno_free, dat_ep_free, dat_evd_free, dat_lmr_free, dat_psp_free, dat_pz_free, dat_rmr_free,
    dat_rsp_free, dat_srq_free,
};

fill! { common cr lmr rmr }
