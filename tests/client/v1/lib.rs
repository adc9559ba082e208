//! The API of `dat-core` over libdat.so: handles of the C library, loaded at run time, each call
//! one call of C. The conformance suite is compiled against it in place of the core.
//!
//! The source is that of both clients, `tests/client/src`; this crate gives it the types of DAT
//! 1.2, and says what 1.2 has not.

#[path = "../../../capi/abi/v1/mod.rs"]
pub mod abi;
#[path = "../src/mod.rs"]
mod client;
mod dialect;

pub use client::*;
