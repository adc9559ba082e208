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

fill! { common cno cr ep extension lmr post rmr service_point }
