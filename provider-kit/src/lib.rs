//! What providers whose device is software have in common.
//!
//! A queue pair of such a provider reaches its peer through a [link]: an ordered way for
//! [frames](frame) that reports its end. A provider adds the link; the rest is here.
//!
//! The other modules are the parts that a queue pair is made of: completion queues, rings of posted
//! receives, the room of work queues, protection domains, windows, and the copies themselves.
//!
//! # Locks
//! The locks of this crate are leaves, in this order: the shared receive queue, then the producers of a
//! completion queue, the users of a domain, a window, the region table. No upcall is made under any
//! of them: [`upcalls::Upcalls`] collects them until the locks are released.

#![deny(unsafe_code)]
#![allow(
    missing_debug_implementations,
    reason = "the parts of a queue pair are locks and rings, which have nothing to print"
)]

pub mod attributes;
pub mod bytes;
pub mod completion_queue;
mod completion_ring;
pub mod completion_target;
pub mod credits;
pub mod descriptors;
pub mod domain;
pub mod engine;
pub mod errors;
pub mod fork;
pub mod frame;
pub mod handshake;
pub mod link;
#[cfg(all(test, loom))]
mod loom_models;
pub mod memory_link;
pub mod network;
pub mod parameters;
pub mod polled_links;
pub mod qualifier;
pub mod receive_ring;
pub mod receive_wakeup;
pub mod regions;
pub mod ring;
pub mod shared_receive;
mod slots;
pub mod stream_link;
pub mod sync;
pub mod transfer;
pub mod upcalls;
pub mod window;
