//! The RDMA connection manager and verbs in safe Rust, over librdmacm and libibverbs.
//!
//! The two libraries are opened when a program first needs them. A build needs neither them nor
//! their headers nor a build script, and a program that makes no call runs without them.
//!
//! - [`cm`] has addresses, connections, datagram services and multicast: identifiers, either
//!   synchronous or with an event channel, and queue pairs that are created with them.
//! - [`verbs`] has devices, memory regions and windows, completion queues, queue pairs, shared
//!   receive queues, and posts of every operation.
//! - `stream`, with the feature `tokio`, has events and completions for asynchronous tasks.
//!
//! # A client
//!
//! ```no_run
#![doc = include_str!("../examples/rdma_client.rs")]
//! ```
//!
//! # A server
//!
//! ```no_run
#![doc = include_str!("../examples/rdma_server.rs")]
//! ```
//!
//! The two work with each other and with `rdma_client` and `rdma_server` of rdma-core. More
//! examples are in the folder `examples`: a ping with RDMA reads and writes, a ping-pong without
//! the connection manager, datagrams, and multicast.
//!
//! # What C leaves to the program
//!
//! - **Order of destruction.** Every object keeps its parents alive. Dropping it destroys it.
//! - **Acknowledging events.** Events are copied and acknowledged when they are taken.
//! - **Memory in use.** A region owns its memory and hands out copies of it. A post in flight and a
//!   bound window keep their region registered; deregistering it fails with `EBUSY`.
//! - **Posting in the right state.** A post that the state of the queue pair does not allow, or
//!   that exceeds its size, is refused.
//! - **Destroying the queue pair of an identifier** while a handle of it exists fails with `EBUSY`.
//!
//! Each failure is an [`Error`] with the call, the errno, the object, and what to do about it.

#![deny(missing_docs, missing_debug_implementations)]

pub mod cm;
mod error;
#[cfg(feature = "tokio")]
pub mod stream;
pub mod sys;
pub mod verbs;

pub use error::{Error, ErrorObject, Result};
pub use sys::LoadError;

/// Compiles the example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Opens the two libraries, as each call does that needs them.
///
/// # Errors
/// A library, or one of its functions, is missing; the text of the error names both.
pub fn load() -> std::result::Result<(), &'static LoadError> {
    sys::libraries().map(|_| ())
}
