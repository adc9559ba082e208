//! The contract between the DAT layer and the providers that move the bytes.
//!
//! A provider is the root [`Provider`], the [`Adapter`] that it opens, and one small trait
//! for each object that an adapter makes. It never sees a DAT handle and never checks what
//! the core has checked; `docs/provider-guide.md` is the guide for writers, and
//! [`stub`] the smallest provider that compiles.
//!
//! Four rules hold for all of it:
//! - **Upcalls** (the `…Sink` traits) are made with no lock held that a downcall could need,
//!   other than locks that only [`QueuePair::post_receive`] and [`QueuePair::post_request`] take.
//! - **Order**: when a connection event is reported, every completion that belongs before it
//!   can already be polled.
//! - **Once**: every accepted post completes once, or is suppressed when it succeeds.
//! - **Drop destroys**: the last reference to an object releases what the device holds for it.

#![deny(unsafe_code)]

mod adapter;
pub mod attr;
mod completion;
mod connection;
pub mod decorate;
pub mod error;
mod failure;
pub mod flags;
pub mod mem;
mod memory;
mod queue_pair;
mod shared_receive;
pub mod status;
pub mod stub;
pub mod triplet;

pub use adapter::{Adapter, AdapterAttributes, AdapterSink, AsyncUpcall};
pub use completion::{
    Completion, CompletionDescriptor, CompletionFeatures, CompletionPoller, CompletionQueue,
    CompletionQueueParts, CompletionSink, Notify, Success, Taken, parts,
};
pub use connection::{
    ConnectRequest, ConnectionSink, ConnectionUpcall, Incoming, ListenSink, Listener, Peer,
    RemoteAddress,
};
pub use dat_sync::{Epoch, Epochs};
pub use failure::Failure;
pub use memory::{MemoryRegion, MemoryWindow, ProtectionDomain, WindowScope};
pub use queue_pair::{
    BindRequest, DATAGRAM_PREFIX, Outstanding, QueuePair, QueuePairLimits, QueuePairSpec,
    ReceiveRequest, Request, Segment, Service, Work,
};
pub use shared_receive::{SharedReceiveLimits, SharedReceiveQueue, SharedReceiveSink};

use std::sync::Arc;

use crate::error::{Error, Result, ReturnType, Subtype};

/// The version of this contract; a provider built for another one is refused with both numbers.
pub const CONTRACT_VERSION: u32 = 1;

/// Maximum number of local segments of one post, on every adapter.
pub const MAX_SEGMENTS: usize = 32;

/// The root of a provider: what it is, what it finds on this machine, and how it is opened.
pub trait Provider: Send + Sync {
    /// Name, vendor, version and the contract it was written for.
    fn describe(&self) -> Description;

    /// The adapters that are there now, usable or not; called at each listing, so it must
    /// be quick and must not open anything for longer than the call.
    fn discover(&self) -> Vec<Discovered>;

    /// Whether an adapter of that name may be among those that it discovers: a quick look, that
    /// loads and opens nothing. Where a name is looked up, only providers that say so are asked
    /// what they discover, so that nobody pays for hardware that is not meant. True by default.
    fn may_have(&self, _name: &str) -> bool {
        true
    }

    /// Opens an adapter by the name that [`Provider::discover`] gave or that a line of
    /// dat.conf gives. Each open is an instance of its own.
    ///
    /// # Errors
    /// What kept it from opening, with the device and the errno.
    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>>;

    /// Whether two of its adapters are ways through the same hardware, so that one can take
    /// over from the other (`DAT_HA_RELATIONSHIP`). Unknown by default.
    fn related(&self, _one: &str, _other: &str) -> Relationship {
        Relationship::Unknown
    }
}

/// Whether two adapters can take over from one another (`DAT_HA_RELATIONSHIP` of DAT 2.0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relationship {
    /// They can't.
    Unrelated,
    /// They can.
    Related,
    /// Nobody knows.
    Unknown,
    /// Their providers contradict each other.
    Conflicting,
}

/// What a provider says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The name that dat.conf lines give as library.
    pub name: &'static str,
    /// Who makes it.
    pub vendor: &'static str,
    /// Its version, major and minor.
    pub version: (u32, u32),
    /// The contract it was written for: [`CONTRACT_VERSION`] of its build.
    pub contract: u32,
    /// How far its connections reach.
    pub reach: Reach,
}

/// How far the connections of a provider reach. The greater is the better choice for a program
/// that takes the first adapter it is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// Other endpoints of the same process only.
    Process,
    /// Other processes of the same host.
    Host,
    /// Other hosts, through the sockets of the system.
    Network,
    /// Other hosts, through RDMA hardware or what the kernel offers in place of it.
    Rdma,
}

/// An adapter that a provider found.
#[derive(Clone, Debug)]
pub struct Discovered {
    /// The name to open it by.
    pub name: String,
    /// One line for people: port state, speed, address.
    pub summary: String,
    /// Why it can't be opened now, if it can't.
    pub unusable: Option<Error>,
}

/// What an adapter is opened with.
#[derive(Clone)]
pub struct OpenRequest<'a> {
    /// The name of the interface adapter, as the consumer gave it.
    pub name: &'a str,
    /// The IA parameters: those of the dat.conf line, or what followed `?` in the name.
    pub parameters: &'a str,
    /// Where the adapter reports asynchronous errors.
    pub sink: Arc<dyn AdapterSink>,
}

impl std::fmt::Debug for OpenRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenRequest")
            .field("name", &self.name)
            .field("parameters", &self.parameters)
            .finish_non_exhaustive()
    }
}

/// The error of an optional operation that a provider does not have.
#[must_use]
pub fn unsupported(what: &'static str) -> Error {
    Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
        .because(format!("the provider does not support {what}"))
        .advise("`dat info` shows what the provider supports")
}
