//! The C libraries: libdat.so.1 (DAT 1.2) and libdat2.so.2 (DAT 2.0).
//!
//! This source is compiled twice: for DAT 1.2 as the package `dat1`, and for DAT 2.0 as `dat2`, with `cfg(dat2)`. They
//! differ in their types (`abi`), in `codes`, `structs`, `storage` and `version` (of `v1` or `v2`), and in the calls that
//! only 2.0 has (`call_v2`).

#![expect(clippy::too_many_arguments, reason = "the prototypes are those of DAT")]

pub use ::abi;

#[macro_use]
mod foreign;
mod adapters;
mod argument;
#[macro_use]
mod call;
#[cfg(dat2)]
mod call_v2;
mod cancel;
mod convert;
mod debug;
mod exports;
mod handle;
mod hint;
mod known;
mod last_error;
mod memory;
mod page_check;
mod registry;
mod result;
mod self_map;
mod strerror;
mod table;
#[cfg(not(dat2))]
mod v1;
#[cfg(dat2)]
mod v2;

use result::{grow, guard, guard_call, guard_data_path};
#[cfg(not(dat2))]
use v1::{codes, storage, structs, version};
#[cfg(dat2)]
use v2::{codes, storage, structs, version};
