//! The parts that software providers share.
//!
//! A queue pair of such a provider reaches its peer through a [link], which carries [frames](frame) in
//! order and reports its end. The provider supplies the link as a [`Transport`](engine::Transport); the
//! [engine] is the rest.
//!
//! The [`guide`] shows how to write one.
//!
//! The other modules are parts of queue pairs that a provider can also use without the engine, as
//! provider-loopback does: completion queues, rings of posted receives, credits of work queues,
//! protection domains, memory windows, and the copies of registered memory.
//!
//! # Locks
//! In this order: the completion queues that poll a queue pair, the links that a completion queue polls, the
//! state of a queue pair of the engine, the shared receive queue, the producers of a completion queue, the
//! users of a domain, a window, the grants of direct access, the region table. No upcall is made under any
//! of them: [`upcalls::Upcalls`] collects the upcalls until the locks are released.

#![deny(unsafe_code)]
#![allow(
    missing_debug_implementations,
    reason = "the parts of a queue pair are locks and rings, which have nothing to print"
)]

pub mod attached_srq;
pub mod attributes;
pub mod bytes;
pub mod completion_queue;
mod completion_ring;
pub mod completion_target;
pub mod credits;
mod datagram_counts;
mod datagram_socket;
pub mod descriptors;
pub mod direct;
pub mod domain;
pub mod doorbell;
pub mod engine;
pub mod errors;
pub mod fault;
mod fifo;
pub mod fork;
pub mod frame;
#[cfg(any(doc, doctest))]
pub mod guide;
pub mod handshake;
pub mod link;
#[cfg(all(test, loom))]
mod loom_models;
mod memory;
pub mod memory_link;
pub mod network;
mod packet_ends;
pub mod parameters;
pub mod polled_links;
pub mod processors;
mod progress;
pub mod progress_mode;
mod protocol;
pub mod qualifier;
mod queue_pair;
pub mod receive_ring;
pub mod receive_wakeup;
pub mod regions;
pub mod ring;
pub mod shared_receive;
mod slots;
pub mod spec_objects;
pub mod stream_link;
pub mod sync;
pub mod transfer;
mod transport;
pub mod upcalls;
#[cfg(all(test, not(loom)))]
mod weak_memory;
pub mod window;
mod work_queues;
