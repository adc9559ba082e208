//! libdat.so.1: DAT 1.2 for C programs.
//!
//! Both libraries share the source in `capi/src`; this crate adds the types of DAT 1.2 (`abi`) and
//! its differences from 2.0 (`codes`, `structs`, `storage`, `version`).

#![expect(clippy::too_many_arguments, reason = "the prototypes are those of DAT")]
#![expect(clippy::duplicate_mod, reason = "the table of calls becomes functions and types")]

#[macro_use]
#[path = "../abi/v1/mod.rs"]
pub mod abi;
#[macro_use]
#[path = "../src/foreign/mod.rs"]
mod foreign;
#[path = "../src/call/mod.rs"]
mod call;
mod codes;
#[path = "../exports/v1/mod.rs"]
mod exports;
mod storage;
mod structs;
mod version;

#[path = "../src/adapters.rs"]
mod adapters;
#[path = "../src/argument.rs"]
mod argument;
#[path = "../src/cancel/mod.rs"]
mod cancel;
#[path = "../src/convert/mod.rs"]
mod convert;
#[path = "../src/debug.rs"]
mod debug;
#[path = "../src/handle/mod.rs"]
mod handle;
#[path = "../src/last_error.rs"]
mod last_error;
#[path = "../src/page_check/mod.rs"]
mod page_check;
#[path = "../src/registry.rs"]
mod registry;
#[path = "../src/result.rs"]
mod result;
#[path = "../src/self_map.rs"]
mod self_map;
#[path = "../src/strerror.rs"]
mod strerror;
#[path = "../src/table.rs"]
mod table;

use result::{guard, guard_call, guard_data_path};
