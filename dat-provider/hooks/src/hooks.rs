//! The hooks of a decorator, and the layer that its objects share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::call::Call;
use super::object::{Kind, Object};
use dat_provider::error::{Error, Result};
use dat_provider::flags::Close;
use dat_provider::{
    Adapter, AdapterAttributes, CompletionPoller, ConnectRequest, ConnectionSink, ConnectionUpcall,
    QueuePair,
};

/// The hooks of a decorator over one open adapter, for [`open_with`](crate::open_with). A method that is not
/// overridden only forwards.
///
/// Hooks are called on the threads of the calls and upcalls that they see, possibly with the core's
/// locks held: like a provider, they must not call back into the DAT layer, and must not block.
pub trait Hooks: Send + Sync + Sized + 'static {
    /// State kept for each completion queue.
    type Queue: Clone + Send + Sync + 'static;
    /// State kept for the calls on a queue pair.
    type Pair: Send + Sync + 'static;
    /// The part of that state that connection events need; it must not own the queue pair.
    type End: Clone + Send + Sync + 'static;

    /// The adapter below was opened; its attributes may be changed here.
    fn opened(&self, _adapter: &Arc<dyn Adapter>, _attributes: &mut AdapterAttributes) {}

    /// Called before a call that can fail.
    ///
    /// # Errors
    /// The call fails with the error, and does not reach the adapter below.
    fn admit(&self, _object: Object, _call: &Call<'_>) -> Result<()> {
        Ok(())
    }

    /// A call returned, or an upcall is about to be passed on.
    fn done(&self, object: Object, call: &Call<'_>, error: Option<&Error>);

    /// A listener was started on this connection qualifier, and the call that started it has not
    /// returned yet: a request may already have been delivered.
    fn listening(&self, _qualifier: u64) {}

    /// Attaches to a new completion queue, and may replace its poller.
    fn queue(
        &self,
        poller: Box<dyn CompletionPoller>,
        depth: usize,
    ) -> (Self::Queue, Box<dyn CompletionPoller>);

    /// Attaches to a new queue pair.
    fn pair(&self, tag: u64, queues: Queues<Self::Queue>) -> Self::Pair;

    /// Returns the part for connection events.
    fn end(&self, pair: &Self::Pair) -> Self::End;

    /// A queue pair has been given other completion queues.
    fn modified(&self, _pair: &Self::Pair, _queues: Queues<Self::Queue>) {}

    /// A post was accepted.
    fn posted(&self, _pair: &Self::Pair, _inner: &dyn QueuePair, _call: &Call<'_>) {}

    /// Starts a connection attempt.
    ///
    /// # Errors
    /// As [`QueuePair::connect`].
    fn connect(
        &self,
        _pair: &Self::Pair,
        inner: &dyn QueuePair,
        request: &ConnectRequest<'_>,
    ) -> Result<()> {
        inner.connect(request)
    }

    /// Reports data that arrived before `Established` was reported.
    fn communication_established(&self, _pair: &Self::Pair, inner: &dyn QueuePair, attempt: u64) {
        inner.communication_established(attempt);
    }

    /// Disconnects.
    fn disconnect(&self, _pair: &Self::Pair, inner: &dyn QueuePair, how: Close) {
        inner.disconnect(how);
    }

    /// Makes a disconnected queue pair unconnected.
    ///
    /// # Errors
    /// As [`QueuePair::reset`].
    fn reset(&self, _pair: &Self::Pair, inner: &dyn QueuePair) -> Result<()> {
        inner.reset()
    }

    /// Ends all use.
    fn shutdown(&self, _pair: &Self::Pair, inner: &dyn QueuePair) {
        inner.shutdown();
    }

    /// Forwards a connection event.
    fn event(
        &self,
        _end: &Self::End,
        sink: &Arc<dyn ConnectionSink>,
        attempt: u64,
        event: ConnectionUpcall<'_>,
    ) {
        sink.connection_event(attempt, event);
    }
}

/// The states of the completion queues of a queue pair, where they belong to the layer.
#[derive(Clone, Debug)]
pub struct Queues<Q> {
    /// The state of the completion queue for requests.
    pub request: Option<Q>,
    /// The state of the completion queue for receives.
    pub receive: Option<Q>,
}

/// State that all objects of an open adapter share.
pub(super) struct Layer<H> {
    pub(super) hooks: H,
    pub(super) adapter: Object,
    /// Number of objects numbered so far.
    numbers: AtomicU64,
}

impl<H: Hooks> Layer<H> {
    pub(super) fn new(hooks: H) -> Arc<Self> {
        static ADAPTERS: AtomicU64 = AtomicU64::new(0);
        let number = ADAPTERS.fetch_add(1, Ordering::Relaxed) + 1;
        let adapter = Object { kind: Kind::Adapter, number };
        Arc::new(Self { hooks, adapter, numbers: AtomicU64::new(0) })
    }

    /// Numbers a new object of a kind.
    pub(super) fn number(&self, kind: Kind) -> Object {
        Object { kind, number: self.numbers.fetch_add(1, Ordering::Relaxed) + 1 }
    }

    /// Makes a call that can fail, unless the hooks refuse it.
    #[inline]
    pub(super) fn call<T>(
        &self,
        object: Object,
        call: &Call<'_>,
        inner: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let result = self.hooks.admit(object, call).and_then(|()| inner());
        self.hooks.done(object, call, result.as_ref().err());
        result
    }

    /// Reports a call that cannot fail, or an upcall.
    #[inline]
    pub(super) fn note(&self, object: Object, call: &Call<'_>) {
        self.hooks.done(object, call, None);
    }
}
