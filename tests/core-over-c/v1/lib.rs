//! The API of `dat-core`, implemented by calls of libdat.so, which is loaded at run time. The
//! conformance suite is compiled against this crate instead of `dat-core`.
//!
//! Both versions share the source in `tests/core-over-c/src`. This crate adds the types of DAT 1.2,
//! and marks the calls that DAT 1.2 does not have.

#[path = "../src/mod.rs"]
mod api;
mod version;

pub use ::abi;
pub use api::*;
