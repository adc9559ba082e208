//! The engine: queue pairs whose peers are reached through links.
//!
//! It has three floors, each of which uses only those below it: `queue_pair` faces the provider contract, `progress`
//! decides which thread reads and writes each link, and `protocol` is the exchange with the peer, without I/O.
//!
//! A queue pair has one lock, which guards its state, its posted requests and receives, and both
//! halves of its link. Registered memory is accessed only under that lock and only after its key was
//! validated: deregistering removes the key and then acquires the lock once. Upcalls are made after
//! the lock is released.

pub use crate::attributes::Identity;
pub use crate::progress::{SimulatedThread, take_simulated_threads};
pub use crate::protocol::datagram::MAX_DATAGRAM;
pub use crate::queue_pair::open;
pub use crate::transport::{
    Acceptor, Attempt, ConnectError, Connected, Connector, ConnectorEvent, DatagramEnds,
    JoinedAcceptor, Transport,
};
