//! Queue pairs: what endpoints post to.

use std::sync::Arc;

use super::{
    Activity, BindRequest, Buffer, CompletionQueue, ConnectRequest, ConnectionSink, Downcast,
    Epoch, Epochs, ProtectionDomain, ReceiveRequest, RemoteAddress, RemoteBuffer, Request,
    SharedReceiveQueue, Work, unsupported,
};
use crate::Failure;
use crate::error::Result;
use crate::flags::{Close, CompletionFlags};
use crate::verbs::{LossPolicy, OnlyDat, VerbsOptions, VerbsQueuePair};

/// The service of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Service {
    /// A reliable connection with one other queue pair.
    #[default]
    Connection,
    /// An unreliable connection with one other queue pair; DAT has none. It has no RDMA reads and atomics, which are
    /// refused when they are posted. Other requests complete once their memory is no longer read, whatever becomes of
    /// them. The other side drops a message that finds no receive, one that is longer than its receive (which fails,
    /// while the connection goes on), and a write to memory that it does not grant.
    /// [`DeviceCounters::dropped_datagrams`](super::DeviceCounters::dropped_datagrams) counts them.
    UnreliableConnection,
    /// Unreliable datagrams to and from any number of other queue pairs.
    Datagram,
}

/// The capacity of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePairLimits {
    /// Maximum number of outstanding receives.
    pub max_receives: u32,
    /// Maximum number of outstanding requests.
    pub max_requests: u32,
    /// Maximum number of segments of one receive.
    pub max_receive_segments: u32,
    /// Maximum number of segments of one request of any kind.
    pub max_request_segments: u32,
    /// The longest message, in bytes.
    pub max_message_size: u64,
    /// Maximum number of outstanding RDMA reads by the peer.
    pub max_reads_in: u32,
    /// Maximum number of outstanding RDMA reads to the peer.
    pub max_reads_out: u32,
}

/// The parameters of a queue pair.
#[derive(Clone)]
pub struct QueuePairSpec {
    /// Returned in its completions and asynchronous events.
    pub tag: u64,
    /// The service.
    pub service: Service,
    /// The domain whose memory it can access. `None` only for a provider-made endpoint whose
    /// consumer has not chosen one yet; until then nothing is posted and nothing connects.
    pub domain: Option<Arc<dyn ProtectionDomain>>,
    /// The queue of the completions of requests. `None` if the consumer does not want their events: the completions
    /// are then dropped, and their queue entries are free again.
    pub request_queue: Option<Arc<dyn CompletionQueue>>,
    /// The queue of the completions of receives. `None` if the consumer does not want their events, as for requests.
    pub receive_queue: Option<Arc<dyn CompletionQueue>>,
    /// The queue that receives are taken from, instead of its own.
    pub shared_receives: Option<Arc<dyn SharedReceiveQueue>>,
    /// Its capacity.
    pub limits: QueuePairLimits,
    /// The options that only programs of verbs choose.
    pub verbs: VerbsOptions,
    /// The epochs for which the segment checks of posts on this queue pair stay valid.
    pub epochs: Arc<Epochs>,
    /// Receives its connection events.
    pub sink: Arc<dyn ConnectionSink>,
}

impl QueuePairSpec {
    /// The parameters of a queue pair without objects and capacity. Complete it with them as
    /// `QueuePairSpec { domain, ..QueuePairSpec::new(sink) }`, which still compiles with a new field.
    #[must_use]
    pub fn new(sink: Arc<dyn ConnectionSink>) -> Self {
        Self {
            tag: 0,
            service: Service::default(),
            domain: None,
            request_queue: None,
            receive_queue: None,
            shared_receives: None,
            limits: QueuePairLimits::default(),
            verbs: VerbsOptions::default(),
            epochs: Arc::default(),
            sink,
        }
    }

    /// For a provider that offers only what DAT needs.
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED` if the specification has anything else.
    pub fn check_needed_by_dat(&self) -> Result<()> {
        if self.verbs.losses != LossPolicy::Flush {
            return Err(unsupported("receives that stay posted after a connection is lost"));
        }
        if self.service == Service::UnreliableConnection {
            return Err(unsupported("unreliable connections"));
        }
        if self.verbs.binding.is_some() {
            return Err(unsupported("datagrams whose address is not resolved"));
        }
        Ok(())
    }
}

impl std::fmt::Debug for QueuePairSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueuePairSpec")
            .field("tag", &self.tag)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Number of operations that were posted and have not completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outstanding {
    /// Receives; one from a shared queue counts from the moment it is taken.
    pub receives: u32,
    /// Requests.
    pub requests: u32,
}

/// Number of bytes before the message of a received datagram (the global route header).
pub const DATAGRAM_PREFIX: u64 = 40;

/// A queue pair with a reliable connection, or one that carries datagrams. The latter is never
/// connected: its attempts end with `Resolved` or a failure, and several may be in progress.
///
/// Its states: unconnected after creation; connecting, after [`QueuePair::connect`] or
/// [`Responder::accept`](super::Responder::accept); connected; and disconnected, after any failure or
/// end of the connection. While it is disconnected, posts complete at once as flushed. Only
/// [`QueuePair::reset`] makes it unconnected again. [`LossPolicy::Keep`] changes the last state.
pub trait QueuePair: Downcast {
    /// Posts a receive; allowed in every state.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` if `max_receives` are outstanding.
    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()>;

    /// Posts a request; allowed while connected or disconnected.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` if `max_requests` are outstanding.
    fn post_request(&self, request: &Request<'_>) -> Result<()>;

    /// As [`post_receive`](Self::post_receive) with one segment. It and the three methods that follow
    /// are the most frequent posts; their arguments are passed in registers. The default posts the
    /// same as a [`ReceiveRequest`].
    ///
    /// # Errors
    /// As [`post_receive`](Self::post_receive).
    #[inline]
    fn post_one_receive(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
    ) -> Result<()> {
        let segments = &[buffer.with_key(key)];
        self.post_receive(&ReceiveRequest { segments, cookie, flags, checked })
    }

    /// As [`post_request`](Self::post_request) for a send with one segment.
    ///
    /// # Errors
    /// As [`post_request`](Self::post_request).
    #[inline]
    fn post_one_send(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
    ) -> Result<()> {
        let (segments, length) = (&[buffer.with_key(key)], buffer.length);
        self.post_request(&Request { work: Work::Send, segments, length, cookie, flags, checked })
    }

    /// As [`post_request`](Self::post_request) for an RDMA write with one segment.
    ///
    /// # Errors
    /// As [`post_request`](Self::post_request).
    #[inline]
    fn post_one_write(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
        remote: RemoteBuffer,
    ) -> Result<()> {
        let (segments, length) = (&[buffer.with_key(key)], buffer.length);
        let work = Work::RdmaWrite { remote: remote.with_length(length) };
        self.post_request(&Request { work, segments, length, cookie, flags, checked })
    }

    /// As [`post_request`](Self::post_request) for an RDMA read with one segment.
    ///
    /// # Errors
    /// As [`post_request`](Self::post_request).
    #[inline]
    fn post_one_read(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
        remote: RemoteBuffer,
    ) -> Result<()> {
        let (segments, length) = (&[buffer.with_key(key)], buffer.length);
        let work = Work::RdmaRead { remote: remote.with_length(length) };
        self.post_request(&Request { work, segments, length, cookie, flags, checked })
    }

    /// Posts a datagram, on a queue pair that carries them. The receive that it completes gets
    /// [`DATAGRAM_PREFIX`] bytes of the transport before the message. A datagram that arrives before a receive is posted
    /// may wait for one, or be lost.
    ///
    /// # Errors
    /// As [`QueuePair::post_request`]; `DAT_MODEL_NOT_SUPPORTED` if the provider has no datagrams
    /// (the default).
    fn post_datagram(&self, _to: &RemoteAddress, _request: &Request<'_>) -> Result<()> {
        Err(unsupported("datagrams"))
    }

    /// Posts a bind and returns the new key of the window; the old key becomes invalid when the
    /// bind completes. Later requests do not start before the bind has completed.
    ///
    /// # Errors
    /// As [`QueuePair::post_request`]; `DAT_MODEL_NOT_SUPPORTED` if the provider has no windows
    /// (the default).
    fn post_bind(&self, _bind: &BindRequest<'_>) -> Result<u32> {
        Err(unsupported("memory window, which a remote memory region needs"))
    }

    /// Starts to connect. The outcome is reported as an event, possibly before this returns.
    ///
    /// # Errors
    /// What prevented the start; the queue pair is then unchanged and no event follows.
    fn connect(&self, request: &ConnectRequest<'_>) -> Result<()>;

    /// The port qualifier of the connection attempt in progress: the one that the peer's request
    /// reports as [`Peer::port`](super::Peer::port), and `Established` as the local port. `None` if
    /// no attempt is in progress, or if the transport chooses the port later (the default).
    fn connecting_port(&self) -> Option<u64> {
        None
    }

    /// A receive completed while the attempt with this number was pending: the peer considers the
    /// connection established. A transport that finds this out from the data may report `Established`
    /// inside this call rather than later. The core holds the completion back until `Established`
    /// is reported, whether or not that happens in this call (the default does nothing). The core
    /// holds no lock during the call, and may make it late: for an attempt that is no longer
    /// pending it does nothing.
    fn communication_established(&self, _attempt: u64) {}

    /// The time-out of the consumer has ended an attempt of a queue pair that carries datagrams: what the provider holds
    /// for it is of no use any more, and an event of it is ignored (the default does nothing). The core holds no lock
    /// during the call.
    fn abandon(&self, _attempt: u64) {}

    /// Ends the connection or the attempt. A graceful disconnect lets the requests posted before it
    /// finish. What is outstanding is flushed, then `Disconnected` is reported on both sides; an
    /// attempt ends without an event on this side. On a disconnected queue pair nothing happens. That of a queue pair with a
    /// [`DatagramBinding`](crate::verbs::DatagramBinding) only flushes its receives.
    fn disconnect(&self, how: Close);

    /// Makes a disconnected queue pair unconnected; completions not polled yet are kept.
    ///
    /// # Errors
    /// The error of the device.
    fn reset(&self) -> Result<()>;

    /// Changes the specification of an unconnected queue pair; receives posted before are kept.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` if the device has none that large; nothing is changed.
    fn modify(&self, spec: QueuePairSpec) -> Result<()>;

    /// Number of operations that were posted and have not completed.
    fn outstanding(&self) -> Outstanding;

    /// The first operation since the queue pair was created or reset that failed and was not
    /// flushed; known once its completion was polled. `None` if there is none, or if the provider
    /// does not record it (the default).
    fn failure(&self) -> Option<Failure> {
        None
    }

    /// The current activity of the queue pair, for operators. The call comes from a thread of the library, at any time,
    /// and must neither wait for the peer, nor make upcalls, nor give the device work. By default, nothing is known.
    fn activity(&self) -> Activity {
        Activity::default()
    }

    /// The part for programs of verbs. By default, it is not supported.
    fn for_verbs(&self) -> &dyn VerbsQueuePair {
        &OnlyDat
    }

    /// Ends all use: an abrupt disconnect (the default) whose events are of no interest. Later posts
    /// are refused or flushed. The core calls this at the latest before it drops its reference.
    fn shutdown(&self) {
        self.disconnect(Close::Abrupt);
    }
}

/// A queue pair that its provider shares with its own threads.
impl<Q: QueuePair> QueuePair for Arc<Q> {
    crate::forward! { self => (**self);
        fn post_receive(receive: &ReceiveRequest<'_>) -> Result<()>;
        fn post_request(request: &Request<'_>) -> Result<()>;
        fn post_one_receive(
            buffer: Buffer, key: u32, cookie: u64, flags: CompletionFlags, checked: Epoch
        ) -> Result<()>;
        fn post_one_send(
            buffer: Buffer, key: u32, cookie: u64, flags: CompletionFlags, checked: Epoch
        ) -> Result<()>;
        fn post_one_write(
            buffer: Buffer, key: u32, cookie: u64, flags: CompletionFlags, checked: Epoch, remote: RemoteBuffer
        ) -> Result<()>;
        fn post_one_read(
            buffer: Buffer, key: u32, cookie: u64, flags: CompletionFlags, checked: Epoch, remote: RemoteBuffer
        ) -> Result<()>;
        fn post_datagram(to: &RemoteAddress, request: &Request<'_>) -> Result<()>;
        fn for_verbs() -> &dyn VerbsQueuePair;
        fn post_bind(bind: &BindRequest<'_>) -> Result<u32>;
        fn connect(request: &ConnectRequest<'_>) -> Result<()>;
        fn connecting_port() -> Option<u64>;
        fn communication_established(attempt: u64);
        fn abandon(attempt: u64);
        fn disconnect(how: Close);
        fn reset() -> Result<()>;
        fn modify(spec: QueuePairSpec) -> Result<()>;
        fn outstanding() -> Outstanding;
        fn failure() -> Option<Failure>;
        fn activity() -> Activity;
        fn shutdown();
    }
}
