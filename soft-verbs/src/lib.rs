//! Verbs without a device: the objects of libibverbs over shared memory and TCP.
//!
//! The device `soft0` is the engine of `dat-provider-kit`, opened once for each process. Its objects have the rules of
//! the manual pages of rdma-core, and errors with the errno of these pages. The crate does not depend on C structures,
//! except that [`WorkCompletion`] and [`Sge`] have the layout of theirs, so that nothing is copied at the edge.
//! The README of the crate has a program.
//!
//! # What differs from hardware
//! - A peer on the same machine does not access memory directly that has an `iova` of its own: this side copies.
//! - Memory is not pinned: memory without the access is registered, and the operation that accesses it fails.
//! - A queue pair of type UC loses a message only if the peer has no receive for it, or is gone.
//! - A message waits for a receive as long as all its retries take, and its memory is checked when it is sent.
//! - The path is chosen by the kernel: packet sequence numbers, service levels, the MTU and alternate paths have no effect.
//! - A queue pair connects when it becomes ready to receive: the side with the larger number to the other one, whose
//!   address is the GID and whose TCP port is in the number. Requests that are posted before wait, for about a second or
//!   the time of the retries.
//!
//! # Locks
//! An event queue, the list of completions of a completion queue, and the table of numbers have a lock each, and no
//! other lock is taken under it. The locks of a queue pair are described there.

#![deny(unsafe_code)]

mod access;
mod address_handle;
mod async_event;
mod channel;
pub mod cm;
mod completion_queue;
mod context;
mod device;
mod domain;
mod engine;
mod error;
mod events;
mod in_use;
mod log;
mod port;
mod queue_pair;
mod region;
mod request;
mod shared_receive;
mod translate;
mod window;
mod work_completion;

pub use access::Access;
pub use address_handle::{AddressHandle, AddressVector, address_of, gid_of};
pub use async_event::{AsyncElement, AsyncEvent, AsyncEventType, AsyncEvents};
pub use channel::CompletionChannel;
pub use completion_queue::CompletionQueue;
pub use context::{Context, GidEntry, end_connections};
pub use device::{Device, DeviceAttributes, devices};
pub use domain::Domain;
pub use error::{Error, Result};
pub use log::explain;
pub use port::{DEFAULT_PKEY, PORT, PortAttributes};
pub use queue_pair::{
    AttributeMask, MAX_INLINE, QueuePair, QueuePairAttributes, QueuePairCapacity, QueuePairInit,
    QueuePairState, QueuePairType,
};
pub use region::Region;
pub use request::{
    Data, Destination, Inline, Remote, SendFlags, SendOperation, SendRequest, Sge, WindowBind,
};
pub use shared_receive::{SharedReceiveAttributes, SharedReceiveInit, SharedReceiveQueue};
pub use window::{Window, WindowType};
pub use work_completion::{WcFlags, WcOpcode, WcStatus, WorkCompletion};

/// Runs the example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
