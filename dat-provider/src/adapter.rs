//! An open adapter, which creates every other object of a provider.

use std::sync::Arc;

use super::{
    Address, CompletionQueueParts, CompletionSink, ListenSink, ListenerParts, ProtectionDomain,
    QueuePair, QueuePairSpec, SharedReceiveLimits, SharedReceiveQueue, SharedReceiveSink,
    WaiterProgress, unsupported,
};
use crate::attr::{EpAttributes, IaAttributes, ProviderAttributes};
use crate::error::Result;
use crate::verbs::{OnlyDat, VerbsAdapter};

/// One opened instance of an adapter.
///
/// The core enforces every limit of [`AdapterAttributes`]: a provider sees no request beyond them.
pub trait Adapter: Send + Sync {
    /// Limits and properties of the adapter and the provider. Called right after the open, and by the default of
    /// [`listen_at`](Self::listen_at).
    fn attributes(&self) -> AdapterAttributes;

    /// Creates a protection domain.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` if the device has none left.
    fn create_domain(&self) -> Result<Arc<dyn ProtectionDomain>>;

    /// Creates a completion queue that holds at least `depth` completions.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` if the device has none left, or none that long.
    fn create_completion_queue(
        &self,
        depth: usize,
        sink: Arc<dyn CompletionSink>,
    ) -> Result<CompletionQueueParts>;

    /// Creates an unconnected queue pair, to which receives can be posted at once.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` if the device has none left, or none that large.
    fn create_queue_pair(&self, spec: QueuePairSpec) -> Result<Box<dyn QueuePair>>;

    /// Asked when an endpoint for connections is created: whether its queue pair can be created at its first use, so
    /// that endpoints that are not used take little memory. That creation may fail for lack of memory only, which the
    /// use returns, or because the adapter has failed meanwhile. False by default.
    ///
    /// # Errors
    /// As [`create_queue_pair`](Self::create_queue_pair), if it is known already that it would fail.
    fn defers_queue_pairs(&self) -> Result<bool> {
        Ok(false)
    }

    /// Creates a shared receive queue.
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED` if the provider has none (the default).
    fn create_shared_receive_queue(
        &self,
        _domain: Arc<dyn ProtectionDomain>,
        _limits: SharedReceiveLimits,
        _sink: Arc<dyn SharedReceiveSink>,
    ) -> Result<Arc<dyn SharedReceiveQueue>> {
        Err(unsupported("shared receive queue"))
    }

    /// Listens on a connection qualifier, or on one that the adapter chooses, at every address of the adapter.
    ///
    /// # Errors
    /// `DAT_CONN_QUAL_IN_USE` if the qualifier has a listener already, `DAT_CONN_QUAL_UNAVAILABLE`
    /// if none is free, `DAT_INVALID_PARAMETER` if it is out of the transport's range.
    fn listen(&self, qualifier: Option<u64>, sink: Arc<dyn ListenSink>) -> Result<ListenerParts>;

    /// Listens on a connection qualifier at only one of the addresses of the adapter. By default, that is the one that
    /// it reports, and the adapter has no other.
    ///
    /// # Errors
    /// As [`listen`](Self::listen), and `DAT_INVALID_ADDRESS` for an address that the adapter does not have.
    fn listen_at(
        &self,
        address: Address,
        qualifier: u64,
        sink: Arc<dyn ListenSink>,
    ) -> Result<ListenerParts> {
        let reported = self.attributes().ia.address;
        if address == reported {
            self.listen(Some(qualifier), sink)
        } else {
            Err(address.not_of_adapter(reported))
        }
    }

    /// The part for programs of verbs. By default, it is not supported.
    fn for_verbs(&self) -> &dyn VerbsAdapter {
        &OnlyDat
    }

    /// The progress of the adapter's connections, if a waiter can make it instead of a thread of the
    /// adapter. Called once, right after the open. None by default.
    fn waiter_progress(&self) -> Option<Arc<dyn WaiterProgress>> {
        None
    }

    /// The counts of this instance since it was opened. By default, there are none.
    fn counters(&self) -> DeviceCounters {
        DeviceCounters::default()
    }
}

/// Counters of an adapter for losses and errors that no completion and no event reports. The numbers never decrease. An
/// instance counts what happens to it alone, except that a device counts for all programs that use its port. Like
/// [`Description`](super::Description), it has a [`Default`]: end its literal with `..Default::default()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Datagrams that arrived and were dropped: no receive was posted, the posted one was too short, the queue pair was
    /// flushed, or a queue of the system was full. Also requests of unreliable connections that could not be executed.
    pub dropped_datagrams: u64,
    /// Packets that are none of the protocol, or do not have the key of the queue pair (Q_Key).
    pub receive_errors: u64,
    /// Datagrams that completed and were not sent, for example because no way leads to their destination.
    pub transmit_discards: u64,
    /// Packets that arrived with a mark of an error of an earlier link.
    pub remote_physical_errors: u64,
    /// Packets that the port dropped on arrival because of a rule for partitions or raw packets.
    pub receive_constraint_errors: u64,
    /// Packets that the port did not send because of such a rule.
    pub transmit_constraint_errors: u64,
    /// Times that the local physical errors of the link exceeded its threshold.
    pub integrity_errors: u64,
    /// Times that the buffers of the port overran more often than its threshold.
    pub buffer_overruns: u64,
    /// Packets that the port dropped because it could not relay them.
    pub switch_relay_errors: u64,
    /// Ticks of the port in which it had data to send and no credits.
    pub transmit_waits: u64,
    /// Requests of peers that were refused because they may not access the memory.
    pub responder_access_errors: u64,
    /// Requests of peers that arrived out of order.
    pub responder_out_of_sequence: u64,
    /// Requests of peers that were refused because they are invalid.
    pub responder_invalid_requests: u64,
    /// Requests that the peer refused because they may not access its memory.
    pub requester_access_errors: u64,
    /// Answers of peers that arrived out of order.
    pub requester_out_of_sequence: u64,
    /// Requests that the peer refused because they are invalid.
    pub requester_invalid_requests: u64,
    /// Requests that failed because the peer had no receive for longer than their retries.
    pub receiver_retries_exceeded: u64,
    /// Requests that failed because the peer did not answer any of their retries.
    pub transport_retries_exceeded: u64,
}

/// Everything that an adapter reports about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdapterAttributes {
    /// Limits and identity.
    pub ia: IaAttributes,
    /// The attributes of the provider.
    pub provider: ProviderAttributes,
    /// The attributes of an endpoint for which the consumer gives none. They allow it to send,
    /// receive and do RDMA.
    pub default_ep: EpAttributes,
    /// Identifies which completion queues can be shared: a queue pair of any open instance of the
    /// provider with the same value can complete into them. `None` if an instance can use only its
    /// own.
    pub completion_scope: Option<u64>,
}

/// Receives reports from the adapter that belong to no single call.
pub trait AdapterSink: Send + Sync {
    /// Reports an event of the adapter or of one of its objects.
    fn async_event(&self, event: AsyncUpcall);
}

/// An asynchronous error, with the tag of the object that it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsyncUpcall {
    /// The adapter can no longer be used.
    Catastrophic,
    /// A queue pair broke without a connection event that reports it.
    QueuePairBroken {
        /// The tag of the queue pair.
        tag: u64,
    },
    /// The provider had an internal error.
    ProviderInternal,
}
