//! The connection manager (librdmacm): addresses, connections, datagram services and multicast
//! (rdma_cm(7)).
//!
//! Events are copied and acknowledged when they are taken ([`EventChannel::take_event`]), so a thread
//! that destroys an identifier never waits for another one that still reads an event. An event
//! names its identifier by the key that the program gave it, because the identifier may be gone by
//! then.

mod address;
mod address_info;
mod channel;
mod connect;
mod endpoint;
mod event;
mod id;
mod multicast;
mod options;
mod queue_pair;
mod transfer;

pub use address_info::{AddressEntry, AddressInfo, Family, Flags, Hints, PathData};
pub use channel::EventChannel;
pub use connect::ConnectParameters;
pub use event::{Event, EventKind, Parameters};
pub use id::{CmId, PortSpace};
pub use multicast::Membership;
pub use options::Ece;
pub use queue_pair::CmQueuePairInit;
pub use transfer::UDP_QUEUE_KEY;
