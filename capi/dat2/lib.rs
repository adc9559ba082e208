//! libdat2.so.2: DAT 2.0 for C programs.
//!
//! Both libraries share the source in `capi/src`; this crate adds the types of DAT 2.0 (`abi`), its
//! differences from 1.2 (`codes`, `structs`, `storage`, `version`) and the calls that only 2.0 has
//! (`call_v2`).

#![expect(clippy::too_many_arguments, reason = "the prototypes are those of DAT")]
#![expect(clippy::duplicate_mod, reason = "the table of calls becomes functions and types")]

#[macro_use]
#[path = "../abi/v2/mod.rs"]
pub mod abi;
#[macro_use]
#[path = "../src/mod.rs"]
mod shared;
#[path = "../src/call_v2/mod.rs"]
mod call_v2;
mod codes;
#[path = "../exports/v2/mod.rs"]
mod exports;
mod storage;
mod structs;
mod version;

use shared::result::{grow, guard, guard_call, guard_data_path};
use shared::{
    adapters, argument, call, cancel, convert, debug, foreign, handle, hint, known, last_error,
    memory, page_check, registry, result, self_map, strerror, table,
};
