//! The DAT provider that uses the better transport for each peer: shared memory within the machine,
//! TCP beyond it.
//!
//! The adapter is `auto`, at every address of the machine. Its addresses and connection qualifiers are those of TCP, so a program does
//! not notice which transport a connection uses: a connection request reaches the listener that it would
//! reach over TCP. If that listener is an adapter `auto` of the same machine and user, it also listens in
//! shared memory under the same addresses and qualifier, and the connection uses shared memory.
//!
//! Queue pairs, regions and completion queues are those of [`dat_provider_kit`], where a link is
//! chosen for each connection; this crate only combines the links of `dat_provider_shm` and
//! `dat_provider_tcp`.
//!
//! # Locks
//! None.

#![forbid(unsafe_code)]

mod interface;
mod links;
mod parameters;
mod provider;

pub use provider::{AutoProvider, provider};
