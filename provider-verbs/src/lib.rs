//! A DAT provider over libibverbs and librdmacm: InfiniBand, RoCE and iWARP adapters.
//!
//! The two libraries are opened when an adapter is first asked for, so that programs build and
//! run without them; their absence is one readable reason.
//!
//! # Layers
//! - the crate `rdma-verbs`: the two C libraries, and safe layers over them.
//! - this crate is the provider: objects of the contract over objects of those layers.
//!
//! # How it works
//! A queue pair is made by the provider itself and bound to a connection when there is one
//! (rdma_init_qp_attr(3), rdma_establish(3)); so it exists, and takes receives, before. After a
//! connection it is replaced: its number stays reserved on the other side for a while.
//!
//! A queue pair for datagrams is never connected. Both sides of a request for one ask the fabric
//! where to send to: the one that answers asks back, which the request makes possible
//! (`introduction`).
//!
//! What was posted is written down in a ring (`ledger`), because the completion of a failure
//! names nothing but an identifier. Completions stay with the device until they are wanted; two
//! threads (`engine`) take events, and act on them. A thread that waits for completions is woken
//! by the device itself: it sleeps on the channel of its queue, which is lent to it (`ear`).
//!
//! # Locks
//! In the order in which they may be taken:
//! 1. `link` of a queue pair: the state of its connection;
//! 2. its `sender` or `receiver`: posting; never those of two queue pairs;
//! 3. that of a completion queue, under which completions are taken;
//! 4. leaves: a shared receive queue, a window, the table of the engine, a region.
//!
//! Queue pairs share no lock but those of completion queues and shared receive queues that
//! their consumer shares between them. No upcall is made under any lock.

#![deny(unsafe_code)]

mod adapter;
mod cause;
mod completion_queue;
mod device;
mod discovery;
mod domain;
mod ear;
mod engine;
mod errors;
mod introduction;
mod ledger;
mod listener;
mod mapping;
mod memlock;
mod network;
mod provider;
mod qualifier;
mod queue_pair;
mod refusal;
mod segments;
mod shared_receive;
mod standstill;
mod target;
mod window;

pub use provider::{VerbsProvider, provider};

use rdma_verbs::{cm, sys, verbs};
