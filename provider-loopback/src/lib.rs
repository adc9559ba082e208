//! The in-process DAT provider: it needs nothing, is always there, and is the reference for
//! what the contract of [`dat_core::provider`] means.
//!
//! # How it works
//! The fabric is the process: adapters are found by address, listeners by address and
//! qualifier, memory by one table of keys. A direction of a connection, from a requester A to
//! a responder B, lives in B's receive side: B's posted receives, and those requests of A that
//! wait for one. Whoever brings the second half of a match moves the bytes in its own thread;
//! there are no others.
//!
//! # Locks
//! In the order in which they may be taken, at most one of each line at a time:
//! 1. `sq` of a queue pair: its connection state, its room for requests.
//! 2. `post` of a queue pair: where receives are posted, and their room.
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
//! no locked instruction. Between threads go rings whose slots say themselves whether they are
//! filled: from who posts a receive to who sends (`receive_ring`), and from who completes to who
//! polls (`completion_ring`), who so takes no lock. Who posts a receive looks at the direction
//! itself only while it is asked to (`queue_pair::lookout`).
//!
//! # Why it is safe to free at any time
//! - A connection has a number that never comes again. Each step of its end checks the number
//!   under the lock of what it changes, so several threads can end the same connection, and
//!   one that comes late does nothing to the next.
//! - Whoever ends a connection first shuts both directions, which completes all that is
//!   outstanding, and only then changes the states; whoever changed a state reports it.
//! - Deregistering removes the key, then passes every `sq` and `rq` under which a copy could
//!   still be using it: it waits for who is inside, and takes no bias away.

#![deny(unsafe_code)]

mod adapter;
mod connection;
mod fabric;
mod parameters;
mod provider;
mod queue_pair;

use provider_kit::{
    completion_queue, credits, domain, errors, outlet, receive_ring, ring, shared_receive, sync,
    transfer, window,
};

pub use provider::{LoopbackProvider, provider};
