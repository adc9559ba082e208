//! Everything that libdat2.so.2 exports, except the variadic dat_extension_op, which is written in
//! C.

#![allow(unreachable_pub, reason = "exported to C by name, not to Rust")]

use crate::abi::*;

#[macro_use]
#[path = "../mod.rs"]
mod common;

mod cno;
mod cr;
mod ep;
mod extension;
mod ia;
mod lmr;
mod post;
mod registry;
mod rmr;
mod service_point;

pub(crate) use common::{
    dat_cno_free, dat_ep_free, dat_evd_free, dat_lmr_free, dat_psp_free, dat_pz_free, dat_rmr_free,
    dat_rsp_free, dat_srq_free,
};
pub(crate) use service_point::dat_csp_free;

fill! { common cno cr ep extension lmr post rmr service_point }
