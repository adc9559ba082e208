//! The in-process DAT provider: it needs nothing, is always there, and is the reference for
//! what the contract of [`dat_core::provider`] means.
//!
//! # How it works
//! The fabric is the process: adapters are found by address, listeners by address and
//! qualifier, memory by one table of keys. A direction of a connection, from a requester A to
//! a responder B, lives in B's receive side: B's posted receives, and those requests of A that
//! wait for one. The thread that brings the second half of a match moves the bytes; the provider
//! has no threads of its own.
//!
//! # Locks
//! In the order in which they may be taken, at most one of each line at a time:
//! 1. `sq` of a queue pair: its connection state and request credits.
//! 2. `post` of a queue pair: the tail of its receives and their credits.
//! 3. `rq` of a queue pair: the inbound direction, and where receives are taken. Every byte of a
//!    direction is copied under the `rq` of its responder.
//! 4. the shared receive queue.
//! 5. leaves: the producers of a completion queue, the queue pairs of a domain, the peer of a
//!    queue pair, a window, the region table, the table of hosts.
//!
//! A post takes the `sq` of its own queue pair and the `rq` of the peer, so queue pairs that
//! have nothing to do with each other share no lock but those of completion queues and shared
//! receive queues that their consumer shares between them. No upcall is made under any lock.
//!
//! The locks of the data path are [biased](dat_sync::biased): where one thread posts, they cost
//! no locked instruction. Threads hand work to each other through rings whose slots say whether
//! they are filled, so that the reader takes no lock: the poster of receives to the sender
//! (`receive_ring`), and the completing thread to the poller (`completion_ring`). The poster of a
//! receive checks the direction only on demand (`dat_provider_kit::receive_wakeup`).
//!
//! # Why it is safe to free at any time
//! - A connection has a number that is never reused. Each step of its end checks the number
//!   under the lock of what it changes, so several threads can end the same connection, and
//!   a late step does nothing to the next connection.
//! - The thread that ends a connection first shuts both directions, which completes everything
//!   outstanding, and only then changes the states; the thread that changed a state reports it.
//! - Deregistering removes the key, then passes every `sq` and `rq` under which a copy could
//!   still be using it: it waits for the thread that holds the lock, and takes no bias away.

#![deny(unsafe_code)]

mod adapter;
mod connection;
mod fabric;
mod parameters;
mod provider;
mod queue_pair;

use dat_provider_kit::{
    completion_queue, completion_target, credits, domain, errors, receive_ring, ring,
    shared_receive, sync, transfer, upcalls, window,
};

pub use provider::{LoopbackProvider, provider};
