//! The in-process DAT provider. It needs no device, is always available, and is the reference for the
//! contract of [`dat_provider`].
//!
//! # How it works
//! The fabric is the process: there is one table of adapters by address, one of listeners by address and
//! connection qualifier, and one of memory by key. Each queue pair has a send queue and a responder. The
//! responder holds the posted receives and those requests of the peer that wait for a receive. There are
//! no threads: the thread that posts a request, or the receive that a request waits for, copies the data.
//!
//! # Locks
//! A thread takes at most one lock of each kind, in this order:
//! 1. the send queue lock of a queue pair: the state of its connection, and the credits of requests.
//! 2. its poster lock: the tail of the ring of receives, and the credits of receives.
//! 3. its responder lock: the head of that ring, and the requests of the peer. Data that the peer sends,
//!    writes or reads is copied under it.
//! 4. the shared receive queue.
//! 5. one of these: the producers of a completion queue, the users of a domain, the peer of a queue pair,
//!    a window, the region table, the table of hosts.
//!
//! A post takes the send queue lock of its own queue pair and the responder lock of the peer. Queue pairs
//! that are not connected share only the locks of completion queues and shared receive queues that they
//! have in common. No upcall is made under any lock.
//!
//! The locks of the data path are [biased](dat_sync::biased): if one thread posts, they need no atomic
//! read-modify-write instruction. Receives reach the sender, and completions the poller, through rings
//! whose slots say whether they are filled, so that the reader takes no lock.
//!
//! # Why objects can be freed at any time
//! - The id of a connection is never reused. Each step of the teardown checks it under the lock of what
//!   the step changes, so that several threads can end the same connection, and a late step does not
//!   affect the next connection.
//! - The thread that ends a connection first shuts both responders, which completes all that is
//!   outstanding, and then changes the states. The thread that changes a state reports it.
//! - Deregistration removes the key of the region, then passes through each send queue lock and responder
//!   lock under which a copy may still use the region: it waits for the thread that holds the lock, and
//!   does not revoke the bias.

#![deny(unsafe_code)]

mod adapter;
mod fabric;
mod parameters;
mod provider;
mod queue_pair;

pub use provider::{LoopbackProvider, provider};
