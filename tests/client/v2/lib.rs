//! The API of `dat-core` over libdat2.so: handles of the C library, loaded at run time, each call
//! one call of C. The conformance suite is compiled against it in place of the core.
//!
//! The source is that of both clients, `tests/client/src`; this crate gives it the types of DAT
//! 2.0 and what only 2.0 has.

#[path = "../../../capi/abi/v2/mod.rs"]
pub mod abi;
#[path = "../src/mod.rs"]
mod client;
mod dialect;
mod extension;

pub use client::*;
