//! libdat2.so.2: DAT 2.0 for C programs.
//!
//! Both libraries share the source in `capi/src`; this crate adds the types of DAT 2.0 (`abi`), its
//! differences from 1.2 (`codes`, `structs`, `kept`, `dialect`) and the calls that only 2.0 has
//! (`call2`).

#![expect(clippy::too_many_arguments, reason = "the prototypes are those of DAT")]

#[path = "../abi/v2/mod.rs"]
pub mod abi;
#[macro_use]
#[path = "../src/foreign/mod.rs"]
mod foreign;
#[path = "../src/call/mod.rs"]
mod call;
mod codes;
mod dialect;
#[path = "../exports/v2/mod.rs"]
mod exports;
mod kept;
mod structs;

#[path = "../src/adapters.rs"]
mod adapters;
#[path = "../src/answer.rs"]
mod answer;
#[path = "../src/argument.rs"]
mod argument;
#[path = "../src/call2/mod.rs"]
mod call2;
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
