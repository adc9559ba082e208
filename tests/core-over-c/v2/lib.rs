//! The API of `dat-core`, implemented by calls of libdat2.so, which is loaded at run time. The
//! conformance suite is compiled against this crate instead of `dat-core`.
//!
//! Both versions share the source in `tests/core-over-c/src`. This crate adds the types of DAT 2.0,
//! and the calls that only DAT 2.0 has.

#[path = "../src/mod.rs"]
mod api;
mod version;

pub use ::abi;
pub use api::*;
