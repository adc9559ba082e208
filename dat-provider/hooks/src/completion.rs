//! The layer's completion queues.

use std::sync::Arc;

use super::call::Call;
use super::hooks::{Hooks, Layer};
use super::object::Object;
use dat_provider::error::Result;
use dat_provider::{
    Completion, CompletionDescriptor, CompletionPoller, CompletionQueue, CompletionQueueParts,
    CompletionSink, Notify, SleepTarget,
};

/// The half that queue pairs are created with.
pub(super) struct Queue<H: Hooks> {
    pub(super) inner: Arc<dyn CompletionQueue>,
    kept: H::Queue,
}

impl<H: Hooks> Queue<H> {
    /// The record that the hooks keep for a queue, if it is one of this layer.
    pub(super) fn kept(queue: &dyn CompletionQueue) -> Option<H::Queue> {
        queue.as_any().downcast_ref::<Self>().map(|own| own.kept.clone())
    }
}

impl<H: Hooks> CompletionQueue for Queue<H> {}

/// Wraps both halves of a queue of the provider below.
pub(super) fn wrap<H: Hooks>(
    layer: &Arc<Layer<H>>,
    object: Object,
    parts: CompletionQueueParts,
    depth: usize,
) -> CompletionQueueParts {
    let (kept, inner) = layer.hooks.queue(parts.poller, depth);
    CompletionQueueParts {
        queue: Arc::new(Queue::<H> { inner: parts.queue, kept }),
        poller: Box::new(Poller { inner, layer: Arc::clone(layer), object }),
    }
}

struct Poller<H> {
    inner: Box<dyn CompletionPoller>,
    layer: Arc<Layer<H>>,
    object: Object,
}

impl<H: Hooks> CompletionPoller for Poller<H> {
    #[inline]
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        let count = self.inner.poll(into);
        self.layer.note(self.object, &Call::Poll { found: &into[..count] });
        count
    }

    fn notify(&mut self, mode: Notify) -> bool {
        let waiting = self.inner.notify(mode);
        self.layer.note(self.object, &Call::Notify { mode, waiting });
        waiting
    }

    fn descriptor(&mut self) -> Option<CompletionDescriptor> {
        self.inner.descriptor()
    }

    fn arm_descriptor(&mut self) {
        self.inner.arm_descriptor();
        self.layer.note(self.object, &Call::ArmDescriptor);
    }

    fn begin_sleep(&mut self) -> Option<SleepTarget> {
        self.inner.begin_sleep()
    }

    fn end_sleep(&mut self) {
        self.inner.end_sleep();
    }

    fn resize(&mut self, depth: usize) -> Result<()> {
        let call = Call::Resize { depth: depth as u64 };
        self.layer.call(self.object, &call, || self.inner.resize(depth))
    }
}

/// Forwards the upcalls of a completion queue.
pub(super) struct QueueSink<H> {
    pub(super) layer: Arc<Layer<H>>,
    pub(super) object: Object,
    pub(super) outer: Arc<dyn CompletionSink>,
}

impl<H: Hooks> CompletionSink for QueueSink<H> {
    fn completion_ready(&self) {
        self.layer.note(self.object, &Call::CompletionReady);
        self.outer.completion_ready();
    }

    fn completion_overflow(&self) {
        self.layer.note(self.object, &Call::CompletionOverflow);
        self.outer.completion_overflow();
    }
}
