//! A safe layer over librdmacm: identifiers, their channels and events (rdma_cm(7)).
//!
//! Events are copied and acknowledged as they are taken ([`Channel::take_event`]), so whoever
//! destroys an identifier never waits for somebody who still looks at an event. An event names
//! its identifier by a key, never by a pointer: the identifier may be gone by then.

mod address;
mod channel;
mod endpoint;
mod event;
mod id;
#[cfg(test)]
mod tests;

pub(crate) use address::from_c;
pub(crate) use channel::Channel;
#[cfg(test)]
pub(crate) use endpoint::{AddressInfo, Hints, IdQueuePairInit};
pub(crate) use event::{Event, EventKind, Parameters};
pub(crate) use id::{ConnectParameters, Id, PortSpace};
