//! A DAT provider over libibverbs and librdmacm: InfiniBand, RoCE and iWARP adapters.
//!
//! # Layers
//! - `sys`: layouts and functions of the two C libraries, opened at run time.
#![allow(dead_code, unused_imports, reason = "the layers above come with the next commits")]

mod cm;
mod sys;
mod verbs;
