//! What a decorator changes or watches, and the layer that its objects share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::call::{Call, Kind, Object};
use crate::error::{Error, Result};
use crate::flags::Close;
use crate::{
    Adapter, AdapterAttributes, CompletionPoller, ConnectRequest, ConnectionSink, ConnectionUpcall,
    QueuePair,
};

/// A decorator of one open adapter. What it does not say is forwarded as it is.
pub(super) trait Hooks: Send + Sync + Sized + 'static {
    /// What it keeps for each completion queue.
    type Queue: Clone + Send + Sync + 'static;
    /// What it keeps for the calls on a queue pair.
    type Pair: Send + Sync + 'static;
    /// What of that the events of the connection need; it must not own the queue pair.
    type End: Clone + Send + Sync + 'static;

    /// The adapter below was opened; what it says of itself may be changed.
    fn opened(&self, _adapter: &Arc<dyn Adapter>, _attributes: &mut AdapterAttributes) {}

    /// Asked before a call that can fail; with an error the call fails and goes no further.
    fn admit(&self, _object: Object, _call: &Call<'_>) -> Result<()> {
        Ok(())
    }

    /// A call returned, or an upcall is about to be passed on.
    fn done(&self, object: Object, call: &Call<'_>, error: Option<&Error>);

    /// Takes up a completion queue, and may poll it in its own way.
    fn queue(
        &self,
        poller: Box<dyn CompletionPoller>,
        depth: usize,
    ) -> (Self::Queue, Box<dyn CompletionPoller>);

    /// Takes up a queue pair.
    fn pair(&self, tag: u64, queues: Queues<Self::Queue>) -> Self::Pair;

    /// The part for the events.
    fn end(&self, pair: &Self::Pair) -> Self::End;

    /// A queue pair has other completion queues now.
    fn modified(&self, _pair: &Self::Pair, _queues: Queues<Self::Queue>) {}

    /// A post was accepted.
    fn posted(&self, _pair: &Self::Pair, _inner: &dyn QueuePair, _call: &Call<'_>) {}

    /// Connects.
    fn connect(
        &self,
        _pair: &Self::Pair,
        inner: &dyn QueuePair,
        request: &ConnectRequest<'_>,
    ) -> Result<()> {
        inner.connect(request)
    }

    /// Tells of data that arrived before `Established` was reported.
    fn communication_established(&self, _pair: &Self::Pair, inner: &dyn QueuePair, attempt: u64) {
        inner.communication_established(attempt);
    }

    /// Disconnects.
    fn disconnect(&self, _pair: &Self::Pair, inner: &dyn QueuePair, how: Close) {
        inner.disconnect(how);
    }

    /// Makes unconnected.
    fn reset(&self, _pair: &Self::Pair, inner: &dyn QueuePair) -> Result<()> {
        inner.reset()
    }

    /// Ends all use.
    fn retire(&self, _pair: &Self::Pair, inner: &dyn QueuePair) {
        inner.retire();
    }

    /// Passes an event of a connection on.
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

/// The completion queues of a queue pair, as far as they are of the layer.
#[derive(Clone)]
pub(super) struct Queues<Q> {
    pub(super) request: Option<Q>,
    pub(super) receive: Option<Q>,
}

/// What all objects of an open adapter share.
pub(super) struct Layer<H> {
    pub(super) hooks: H,
    pub(super) adapter: Object,
    /// How many objects were numbered.
    numbers: AtomicU64,
}

impl<H: Hooks> Layer<H> {
    pub(super) fn new(hooks: H) -> Arc<Self> {
        static ADAPTERS: AtomicU64 = AtomicU64::new(0);
        let number = ADAPTERS.fetch_add(1, Ordering::Relaxed) + 1;
        let adapter = Object { kind: Kind::Adapter, number };
        Arc::new(Self { hooks, adapter, numbers: AtomicU64::new(0) })
    }

    /// The next object of a kind.
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

    /// Notes a call that can't fail, or an upcall.
    #[inline]
    pub(super) fn note(&self, object: Object, call: &Call<'_>) {
        self.hooks.done(object, call, None);
    }
}
