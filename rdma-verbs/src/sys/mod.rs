//! Bindings: layouts and constants of rdma-core's public headers, and the functions of its two
//! libraries, which are opened at run time.
//!
//! The bindings are written by hand and checked in, so a build needs no rdma-core. They use only
//! the public symbol versions (`IBVERBS_1.x`, `RDMACM_1.x`), which rdma-core freezes once they are
//! released; tests compare them with the installed headers. Each item has its C name and is
//! documented in the manual pages of libibverbs and librdmacm. Programs use the layers
//! [`verbs`](crate::verbs) and [`cm`](crate::cm) instead.
//!
//! The headers that these facts come from are offered under GPL-2.0 or the OpenIB.org BSD
//! licence; this project uses them under the latter.
#![allow(missing_docs, missing_debug_implementations, reason = "bindings of C, documented there")]

pub(crate) mod cancellation;
pub mod completion_ex;
pub mod device_ex;
pub mod dispatch;
pub mod domain_ex;
pub mod extended;
pub mod gid;
#[cfg(test)]
mod layout_tests;
mod library;
pub mod operations;
pub mod rdma_cma;
pub mod verbs;

pub use library::{Libraries, LoadError, RdmaCm, Verbs, libraries};
