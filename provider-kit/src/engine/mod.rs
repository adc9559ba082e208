//! The engine: queue pairs whose peers are reached through links.
//!
//! A queue pair has one lock, which guards its state, its requests, its receives and both halves of
//! its link. Registered memory is touched under that lock only, after its key was found:
//! deregistering removes the key and then passes the lock. Upcalls are made after it is released.
//!
//! Frames are read by the thread `dat-progress`, one per adapter, which also listens, answers and
//! closes. It lends the link of a queue pair to the pollers of its completion queues while they
//! poll, and takes it back when they stop or are going to sleep. A poller makes no upcall: it leaves
//! those to the thread. The thread sleeps until something arrives, or is due.

mod adapter;
mod completions;
mod conn;
mod connect;
mod core;
mod event;
mod greeting;
mod handle;
mod lending;
mod linger;
mod pair;
mod receives;
mod requester;
mod responder;
mod segments;
mod side;
mod sink;
mod specification;
mod thread;
mod transport;
mod work;

pub use crate::attributes::Identity;
pub use adapter::open;
pub use transport::{Acceptor, ConnectFailure, Connected, Dial, Transport};
