//! The connection manager (rdma_cm(7)).
//!
//! Two identifiers exchange the messages of the communication manager of InfiniBand on a TCP connection between the
//! addresses and ports to which they are bound: a port number of any port space is a port number of TCP, where one socket
//! serves the identifiers of all port spaces of a process. The queue pairs of both sides are then connected by their numbers and GIDs, as if the programs had exchanged these, over what the engine
//! chooses. So an identifier works with queue pairs of any type, and without one. The TCP connection stays until the end:
//! it shows the death of a peer.
//!
//! An address is resolved by the routes of the system, so resolving it takes no time and fails in the call itself. Calls
//! never block, except those that wait for acknowledgements; events report what follows. The thread `soft-cm` reads
//! what arrives.
//!
//! # What differs from a device
//! - Port numbers of different port spaces are independent only within a process.
//! - The passive side of an identifier without a queue pair gets the event of the established connection when the active
//!   side reports it (rdma_establish(3)); a queue pair reports it when the program takes the event.
//! - A request that finds no listener is repeated for 0.4 s before it is reported as rejected.
//! - Private data arrives with the length with which it was sent, without zeros behind it.

mod address;
mod arrival;
mod channel;
mod connect;
mod event;
mod identifier;
mod link;
mod listener;
mod message;
mod multicast;
mod options;
mod port_space;
mod progress;
mod queue_pair;
mod socket;
mod state;

pub use channel::EventChannel;
pub use connect::{ConnectParameters, MAX_READS, UDP_QUEUE_KEY};
pub use event::{ConnectionParameters, DatagramParameters, Event, EventKind, Parameters};
pub use identifier::Identifier;
pub use message::Ece;
pub use port_space::PortSpace;
