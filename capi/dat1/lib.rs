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
#[path = "../src/mod.rs"]
mod shared;
mod codes;
#[path = "../exports/v1/mod.rs"]
mod exports;
mod storage;
mod structs;
mod version;

use shared::result::{grow, guard, guard_call, guard_data_path};
use shared::{
    adapters, argument, call, cancel, convert, debug, foreign, handle, hint, known, last_error,
    memory, page_check, registry, result, self_map, strerror, table,
};
