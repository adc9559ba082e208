//! The DAT provider over shared memory: the processes of one machine, without root, a kernel module
//! or a library.
//!
//! The adapter is `shm`; every Linux has it. The queue pairs are those of [`dat_provider_kit`]; this crate adds the
//! link. A connection consists of a Unix socket and a sealed memory file with a ring for each direction. Frames cross
//! the rings; the socket sets up the connection, wakes a peer that does not poll, and reports the peer's end. A peer
//! that polls many connections shares a page of doorbells. Without `dir=`, nothing has a name in the file system, so
//! nothing is left behind.
//!
//! Data in shared memory is read once and checked like bytes from a network: a peer can end its own connection, and do
//! no other harm.
//!
//! # Locks
//! An adapter has one for its doorbells and two for its kept segments; under them, no other is taken. The engine uses each half
//! of a link under the lock of its queue pair.

#![deny(unsafe_code)]

#[cfg(all(test, not(loom)))]
extern crate self as dat_provider_shm;

mod access_words;
mod address;
mod bell;
mod boards;
mod cma;
#[cfg(all(test, not(loom)))]
#[path = "../tests/shm/common.rs"]
mod common;
mod connect;
mod copy_cost;
mod direct;
mod direct_support;
#[doc(hidden)]
pub mod fuzz;
mod gate;
mod greeting;
#[cfg(all(test, not(loom)))]
#[allow(unsafe_code, reason = "hostile peers write shared memory by address")]
mod hostile_tests;
mod kept_segments;
mod link;
mod listener;
mod mapping;
mod memory_file;
mod parameters;
mod process_fence;
mod provider;
mod reader;
mod ring;
mod ring_word;
mod segment;
mod signals;
mod sync;
mod transport;
mod writer;

pub use provider::{ShmProvider, provider};
pub use transport::Rings;
