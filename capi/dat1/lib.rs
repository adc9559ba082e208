//! libdat.so.1: DAT 1.2 for C programs.
//!
//! Both libraries share the source in `capi/src`; this crate adds the types of DAT 1.2 (`abi`) and
//! its differences from 2.0 (`codes`, `structs`, `kept`, `dialect`).

#![expect(clippy::too_many_arguments, reason = "the prototypes are those of DAT")]

#[path = "../abi/v1/mod.rs"]
pub mod abi;
#[macro_use]
#[path = "../src/foreign/mod.rs"]
mod foreign;
#[path = "../src/call/mod.rs"]
mod call;
mod codes;
mod dialect;
#[path = "../exports/v1/mod.rs"]
mod exports;
mod kept;
mod structs;

#[path = "../src/adapters.rs"]
mod adapters;
#[path = "../src/answer.rs"]
mod answer;
#[path = "../src/argument.rs"]
mod argument;
#[path = "../src/cancel.rs"]
mod cancel;
#[path = "../src/convert/mod.rs"]
mod convert;
#[path = "../src/debug.rs"]
mod debug;
#[path = "../src/detail.rs"]
mod detail;
#[path = "../src/handle/mod.rs"]
mod handle;
#[path = "../src/image.rs"]
mod image;
#[path = "../src/mapped/mod.rs"]
mod mapped;
#[path = "../src/registry.rs"]
mod registry;
#[path = "../src/table.rs"]
mod table;
#[path = "../src/words.rs"]
mod words;

use answer::{guard, guard_data_path};
