//! The C side: layouts and constants of rdma-core's public headers, and its two libraries,
//! opened at run time.
//!
//! The bindings are written by hand and checked in, so a build needs no rdma-core. They keep
//! to the public symbol versions (`IBVERBS_1.x`, `RDMACM_1.x`), which the project freezes once
//! they are released; [`layout`](self) tests hold them against the installed headers.
//!
//! The headers that these facts come from are offered under GPL-2.0 or the OpenIB.org BSD
//! licence; this project uses them under the latter.

pub(crate) mod dispatch;
#[cfg(test)]
mod layout_tests;
pub(crate) mod library;
pub(crate) mod rdma_cma;
pub(crate) mod verbs;

pub(crate) use library::{LoadFailure, libraries};
