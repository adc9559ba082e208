//! The engine: queue pairs whose peers are reached through links.
//!
//! A queue pair has one lock, which guards its state, its posted requests and receives, and both
//! halves of its link. Registered memory is accessed only under that lock and only after its key was
//! validated: deregistering removes the key and then acquires the lock once. Upcalls are made after
//! the lock is released.
//!
//! Each adapter has one thread, `dat-progress`. It reads links, accepts and answers connection
//! requests, and closes links. While consumers poll, it lends the link of a queue pair to the pollers
//! of its completion queues, and takes it back when they stop polling or are about to sleep. A poller
//! makes no upcalls but queues them for the thread. The thread sleeps until a descriptor is ready or a
//! deadline expires. A waiter may claim the work of the thread (`dat_provider::WaiterProgress`): links that
//! become ready do not wake the thread then. Whichever does this work is the driver: it works in passes, one at a
//! time, so that events keep their order.
//!
//! # Modules
//! - `adapter`, `handle`, `listener`: the provider contract.
//! - `queue_pair`: states and posting; `fast_path`: posting if nothing waits; `create`: settings;
//!   `connect`, `accepting` and `incoming`: both ways to connect; `joined_acceptor`: several listeners as one.
//! - `connection`: a link in use, with `send_queue` and `requester` (writing requests),
//!   `coalescing` (sending them together), `direct_requests` (executing them without the peer),
//!   `frame_sink` and `execute` (executing the requests of the peer), `responder` (answering them) and
//!   `ack_delay` (acknowledging them), `credit_delay` (reporting new receives) and `reply_history` (leaving it to a reply).
//! - `failure`: an adapter whose descriptors the program has closed.
//! - `progress_thread`: the thread, where it runs (`placement`), and waiters in its place; `driver`: a pass of either; `core`: what they
//!   share with the objects; `driven` and `polling`: a queue pair as the driver and as pollers see it; `lending`:
//!   the choice between them, with `lent_links` and `lease_history`.

mod accepting;
mod ack_delay;
mod adapter;
mod coalescing;
mod completions;
mod connect;
mod connection;
mod core;
mod create;
mod credit_delay;
mod direct_requests;
mod driven;
mod driver;
mod event;
mod event_order;
mod execute;
mod failure;
mod fast_path;
mod fetch;
mod frame_sink;
mod handle;
mod inbound;
mod incoming;
mod joined_acceptor;
mod lease_history;
mod lending;
mod lent_links;
mod lingering;
mod link_io;
mod listener;
mod liveness;
mod pending_handshake;
mod placement;
mod polling;
mod post;
mod progress_thread;
mod queue_pair;
mod ready_list;
mod receive_queue;
mod reply_history;
mod request;
mod requester;
mod responder;
mod segments;
mod send_queue;
mod transport;
mod work_queues;

pub use crate::attributes::Identity;
pub use adapter::open;
pub use joined_acceptor::JoinedAcceptor;
pub use transport::{Acceptor, Attempt, Awaited, ConnectFailure, Connected, Dial, Transport};
