//! The contract between the DAT layer and the providers that transfer the data.
//!
//! A provider consists of the root [`Provider`], the [`Adapter`] that it opens, and one small trait
//! for each object that an adapter creates. It never sees a DAT handle and never repeats a check of
//! the core. `docs/provider-guide.md` is the guide for authors of providers, and [`stub`] the
//! smallest provider that compiles.
//!
//! Four rules hold throughout:
//! - **Upcalls** (the `…Sink` traits) are made with no lock held that a downcall could need, except
//!   locks that only [`QueuePair::post_receive`] and [`QueuePair::post_request`] take.
//! - **Order**: when a connection event is reported, every completion that must precede it can
//!   already be polled.
//! - **Once**: every accepted post completes exactly once, unless it succeeds and is suppressed.
//! - **Drop destroys**: dropping the last reference to an object releases its device resources.

#![deny(unsafe_code)]

/// Methods that only call the method of the same name and arguments of another value:
/// `forward! { self => self.inner; fn port() -> u8; }`.
#[doc(hidden)]
#[macro_export]
macro_rules! forward {
    ($self:ident => $to:expr; $(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)+) => {$(
        #[inline]
        fn $name(&$self $(, $argument: $type)*) $(-> $result)? {
            $to.$name($($argument),*)
        }
    )+};
}

mod activity;
mod adapter;
mod address;
pub mod attr;
mod completion;
mod connection;
mod downcast;
pub mod error;
mod failure;
mod flag_names;
pub mod flags;
mod local_cause;
pub mod mem;
mod memory;
mod path_cause;
#[doc(hidden)]
pub mod plain_success;
mod queue_pair;
mod request;
mod shared_receive;
pub mod status;
pub mod stub;
pub mod triplet;
pub mod verbs;
mod wait_cause;
mod waiter_progress;

pub use activity::{Activity, Traffic};
pub use adapter::{Adapter, AdapterAttributes, AdapterSink, AsyncUpcall, DeviceCounters};
pub use address::{Address, FabricAddress};
pub use completion::{
    Completion, CompletionDescriptor, CompletionFeatures, CompletionPoller, CompletionQueue,
    CompletionQueueParts, CompletionSink, Notify, SharedWord, SleepTarget,
};
pub use connection::{
    ConnectRequest, ConnectionSink, ConnectionUpcall, IncomingRequest, ListenSink, Listener,
    ListenerParts, Peer, RefusalCause, RemoteAddress, Responder,
};
pub use dat_sync::{Epoch, Epochs};
pub use downcast::Downcast;
pub use failure::Failure;
pub use local_cause::LocalCause;
pub use memory::{MemoryRegion, MemoryWindow, ProtectionDomain, Registration, WindowScope};
pub use path_cause::PathCause;
pub use queue_pair::{
    DATAGRAM_PREFIX, Outstanding, QueuePair, QueuePairLimits, QueuePairSpec, Service,
};
pub use request::{BindRequest, Buffer, ReceiveRequest, RemoteBuffer, Request, Segment, Work};
pub use shared_receive::{SharedReceiveLimits, SharedReceiveQueue, SharedReceiveSink};
pub use wait_cause::WaitCause;
pub use waiter_progress::WaiterProgress;

use std::sync::Arc;

use crate::error::{Error, Result, ReturnType, Subtype};

/// Maximum number of local segments of one post, on every adapter.
pub const MAX_SEGMENTS: usize = 32;

/// The root of a provider: describes it, discovers its adapters on this machine and opens them.
pub trait Provider: Send + Sync {
    /// Name, vendor, version and reach of the provider.
    fn describe(&self) -> Description;

    /// The adapters that exist now, usable or not. Called for each listing, so it must be quick and
    /// must not hold anything open after it returns.
    fn discover(&self) -> Vec<DiscoveredAdapter>;

    /// Returns true if an adapter of this name may be among those that it discovers: a quick check that
    /// loads and opens nothing. To resolve a name, only providers that return true are asked to
    /// discover, so that hardware that is not meant causes no cost. True by default.
    fn claims_name(&self, _name: &str) -> bool {
        true
    }

    /// Opens an adapter by a name from [`Provider::discover`] or from a line of dat.conf. Each open
    /// is a separate instance.
    ///
    /// # Errors
    /// The reason why the open failed, with the device and the errno.
    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>>;

    /// The relationship of two of its adapters, which decides whether one can take over from the
    /// other (`DAT_HA_RELATIONSHIP`). Unknown by default.
    fn related(&self, _one: &str, _other: &str) -> Relationship {
        Relationship::Unknown
    }
}

/// The relationship of two adapters: can they take over from one another (`DAT_HA_RELATIONSHIP` of DAT 2.0)?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relationship {
    /// They cannot.
    Unrelated,
    /// They can.
    Related,
    /// It is not known.
    Unknown,
    /// Their providers contradict each other.
    Conflicting,
}

/// The description of a provider. Like every structure that a provider fills in and that may grow, it has a
/// [`Default`]: end its literal with `..Default::default()`, and it still compiles with a new field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The library name by which lines of dat.conf refer to it.
    pub name: &'static str,
    /// Its vendor.
    pub vendor: &'static str,
    /// Its version, major and minor.
    pub version: (u32, u32),
    /// How far its connections reach.
    pub reach: Reach,
}

/// How far the connections of a provider reach. The greatest is the best choice for a program that
/// takes the first adapter listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// Other endpoints of the same process only.
    #[default]
    Process,
    /// Other processes of the same host.
    Host,
    /// Other hosts, through the sockets of the system.
    Network,
    /// Other hosts, through RDMA hardware or the kernel's emulation of it.
    Rdma,
}

/// An adapter that a provider found.
#[derive(Clone, Debug, Default)]
pub struct DiscoveredAdapter {
    /// The name to open it by.
    pub name: String,
    /// One line for people: port state, speed, address.
    pub summary: String,
    /// Why it cannot be opened now, if that is so.
    pub unusable: Option<Error>,
}

/// The arguments of an open.
#[derive(Clone)]
pub struct OpenRequest<'a> {
    /// The name of the interface adapter, as the consumer gave it.
    pub name: &'a str,
    /// The IA parameters: those of the dat.conf line, or what followed `?` in the name.
    pub parameters: &'a str,
    /// Receives the asynchronous errors of the adapter.
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

/// The error for an optional operation that a provider does not implement.
#[must_use]
pub fn unsupported(what: &'static str) -> Error {
    Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
        .because(format!("the provider does not support {what}"))
        .advise("`dat info` shows what the provider supports")
}
