//! A DAT provider over libibverbs and librdmacm: InfiniBand, RoCE and iWARP adapters.
//!
//! The two libraries are loaded when an adapter is first requested, so that programs build and run
//! without them; if they are missing, the error says so.
//!
//! # Layers
//! - the crate `rdma-verbs`: the two C libraries, with safe wrappers.
//! - this crate: the provider, whose objects implement the contract with those wrappers.
//!
//! # How it works
//! The provider creates queue pairs itself and binds one to a connection when there is one
//! (rdma_init_qp_attr(3), rdma_establish(3)); so the queue pair exists, and accepts receives,
//! before that. After a connection it is replaced, because its number stays reserved on the other
//! side for a while.
//!
//! A datagram queue pair is never connected. Both sides of a request resolve an address through the
//! fabric: the answering side sends a request back, which the first request makes possible
//! (`ud_handshake`).
//!
//! Posts are recorded in a ring (`work_queue`), because the completion of a failure contains only an
//! identifier. Completions stay in the device's queue until they are needed; two threads (`engine`)
//! take events and act on them. The device itself wakes a thread that waits for completions: it
//! sleeps on the channel of its queue, which is lent to it (`channel_lease`).
//!
//! # What provider-kit does not do for it
//! Errors, addresses and port qualifiers are those of `dat_provider_kit`. Its work queues, flush and
//! receives before a connection are for operations that the provider executes itself. Here the
//! device executes them: `work_queue` finds a post by the identifier in a completion, retires
//! suppressed posts with the next one that the device reports, and records the provider's own
//! posts; receives wait for a connection only until the device accepts them; and a flush comes after
//! what the device flushes.
//!
//! # Locks
//! In the order in which they may be acquired:
//! 1. `link` of a queue pair: the state of its connection;
//! 2. its `sender` or `receiver`: for posts; never those of two queue pairs;
//! 3. the lock of a completion queue, under which completions are taken;
//! 4. leaves: a shared receive queue, a window, the table of the engine, a region.
//!
//! Queue pairs share no lock except those of completion queues and shared receive queues that their
//! consumer shares between them. No upcall is made under any lock.

#![deny(unsafe_code)]

mod adapter;
mod channel_lease;
mod completion_queue;
mod device;
mod device_node;
mod discovery;
mod domain;
mod engine;
mod errors;
#[doc(hidden)]
pub mod fuzz;
mod key;
mod listener;
mod memlock;
mod network;
mod port_counters;
mod port_lookup;
mod provider;
mod queue_pair;
mod quirks;
mod reject_data;
mod segments;
mod shared_receive;
mod stall_watchdog;
mod sysfs;
mod ud_handshake;
mod wc_status;
mod window;
mod work_queue;

pub use provider::{VerbsProvider, provider};

use rdma_verbs::{cm, sys, verbs};
