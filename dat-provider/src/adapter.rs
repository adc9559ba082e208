//! An open adapter: the maker of every other object of a provider.

use std::sync::Arc;

use super::{
    CompletionQueueParts, CompletionSink, ListenSink, Listener, ProtectionDomain, QueuePair,
    QueuePairSpec, SharedReceiveLimits, SharedReceiveQueue, SharedReceiveSink, unsupported,
};
use crate::attr::{EpAttributes, IaAttributes, ProviderAttributes};
use crate::error::Result;

/// An adapter as one instance opened it.
///
/// The core keeps every limit of [`AdapterAttributes`]: a provider sees no request beyond them.
pub trait Adapter: Send + Sync {
    /// What the adapter and the provider can do; asked once, right after the open.
    fn attributes(&self) -> AdapterAttributes;

    /// Makes a protection domain.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` when the device has none left.
    fn create_domain(&self) -> Result<Arc<dyn ProtectionDomain>>;

    /// Makes a completion queue that holds at least `depth` completions.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` when the device has none left, or none that long.
    fn create_completion_queue(
        &self,
        depth: usize,
        sink: Arc<dyn CompletionSink>,
    ) -> Result<CompletionQueueParts>;

    /// Makes a queue pair, unconnected, to which receives can be posted at once.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` when the device has none left, or none that large.
    fn create_queue_pair(&self, spec: QueuePairSpec) -> Result<Arc<dyn QueuePair>>;

    /// Makes a shared receive queue.
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED` where there is none (the default).
    fn create_shared_receive_queue(
        &self,
        _domain: Arc<dyn ProtectionDomain>,
        _limits: SharedReceiveLimits,
        _sink: Arc<dyn SharedReceiveSink>,
    ) -> Result<Arc<dyn SharedReceiveQueue>> {
        Err(unsupported("shared receive queue"))
    }

    /// Listens on a connection qualifier, or on one of the adapter's choice.
    ///
    /// # Errors
    /// `DAT_CONN_QUAL_IN_USE` when something listens there, `DAT_CONN_QUAL_UNAVAILABLE` when
    /// none is free, `DAT_INVALID_PARAMETER` when it is out of the transport's range.
    fn listen(
        &self,
        qualifier: Option<u64>,
        sink: Arc<dyn ListenSink>,
    ) -> Result<Box<dyn Listener>>;
}

/// Everything that an adapter says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterAttributes {
    /// Limits and identity.
    pub ia: IaAttributes,
    /// What the provider offers.
    pub provider: ProviderAttributes,
    /// The attributes of an endpoint whose consumer gives none; with them it can send,
    /// receive and do RDMA.
    pub default_ep: EpAttributes,
    /// How many segments one work queue can hold over all its requests; `u64::MAX` where
    /// that is no limit of its own.
    pub max_queue_segments: u64,
    /// Where the completion queues of the adapter belong: queue pairs of every open instance of
    /// the provider with the same value can complete into them. None where an instance can only
    /// use its own.
    pub completion_scope: Option<u64>,
}

/// Where an adapter reports what concerns no single call.
pub trait AdapterSink: Send + Sync {
    /// Something happened to the adapter or one of its objects.
    fn async_event(&self, event: AsyncUpcall);
}

/// An asynchronous error, by the tag of the object that it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsyncUpcall {
    /// The adapter is of no use any more.
    Catastrophic,
    /// A queue pair broke without a connection event to say so.
    QueuePairBroken {
        /// The tag of the queue pair.
        tag: u64,
    },
    /// The provider had an internal error.
    ProviderInternal,
}
