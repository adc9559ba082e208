//! The engine: queue pairs whose peers are reached through links.
//!
//! A queue pair has one lock, which guards its state, its requests, its receives and both halves of
//! its link. Registered memory is touched under that lock only, after its key was found:
//! deregistering removes the key and then passes the lock. Upcalls are made after it is released.
//!
//! Frames are read by the thread `dat-progress`, one per adapter, which also listens, answers and
//! closes. A thread that polls a completion queue and finds nothing reads them too, from the queue
//! pairs that complete there. A poller makes no upcall: it leaves those to the thread.

mod adapter;
mod completions;
mod conn;
mod connect;
mod core;
mod event;
mod handle;
mod hello;
mod pair;
mod receives;
mod sink;
mod transport;
mod work;

pub use crate::attributes::Identity;
pub use adapter::open;
pub use transport::{Acceptor, ConnectFailure, Connected, Dial, Transport};
