//! Progress: the thread that reads and writes each link, and the time at which it does.
//!
//! Each adapter has one thread, `dat-progress`. It reads links, accepts and answers connection requests, and closes
//! links. While consumers poll, it lends the link of a queue pair to the pollers of its completion queues, and takes it
//! back when they stop polling or are about to sleep. A poller makes no upcalls; it queues them for the thread. The
//! thread sleeps until a descriptor is ready or a deadline expires. A waiter may claim the work of the thread
//! (`dat_provider::WaiterProgress`); links that become ready then do not wake the thread. The driver is the thread or
//! waiter that does this work. It works in passes, one at a time, so that events keep their order.
//!
//! # Modules
//! - `attention`: the reader of a link, with `lease_history` and `lent_links`; `link_state`: the free space of a link,
//!   with `coalescing` (sending frames together).
//! - `thread`: the thread, its processors (`placement`) and the owner of its work (`owner`); `driver`: a pass, with
//!   `ready_list`, `event_order` and `liveness`; `shared`: the state shared with the objects of the adapter; `driven`:
//!   the driver's view of a queue pair; `poll_lease`: polls that do the work of the thread, and the
//!   completion queues that they read (`polled_queues`); `post_lease`: requests that posts leave to polls.
//! - `accepting`, `pending_handshake`, `received_frame` and `incoming`: links that peers connect; `lingering`: links
//!   that close.
//! - `failure`: an adapter whose descriptors the program has closed.

mod accepting;
mod attention;
mod coalescing;
mod driven;
mod driver;
mod event_order;
mod failure;
mod incoming;
mod lease_history;
mod lent_links;
mod lingering;
mod link_state;
mod liveness;
mod owner;
mod pending_handshake;
mod placement;
mod poll_lease;
mod polled_queues;
mod post_lease;
mod ready_list;
mod received_frame;
mod shared;
mod thread;

pub(crate) use attention::{Attention, Event, Lease};
pub(crate) use driven::{Driven, LinkStatus};
pub(crate) use driver::IN;
pub(crate) use event_order::EventOrder;
pub(crate) use incoming::{Incoming, ListenerState, RequestSink};
pub(crate) use lease_history::{LeaseEnd, LeaseHistory, MIN_CHECK_INTERVAL};
pub(crate) use lingering::Closing;
pub(crate) use link_state::LinkState;
pub(crate) use received_frame::{Exchange, ReceivedFrame, send};
pub(crate) use shared::{Core, Job};
pub(crate) use thread::{ProgressThread, start};
pub use thread::{SimulatedThread, take_simulated_threads};
