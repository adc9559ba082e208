//! The poller of a completion queue: it reads the links whose queue pairs complete there.

use std::sync::Arc;

use dat_provider::error::Result;
use dat_provider::error::Subtype;
use dat_provider::{
    Completion, CompletionPoller, CompletionQueueParts, CompletionSink, Notify, Success, Taken,
};

use crate::completion_queue::{self, Cq, downcast};

struct Reading {
    poller: Box<dyn CompletionPoller>,
    queue: Arc<Cq>,
    /// Whether a waiter was announced.
    waits: bool,
}

pub(super) fn create(depth: usize, sink: Arc<dyn CompletionSink>) -> Result<CompletionQueueParts> {
    let CompletionQueueParts { queue, poller } = completion_queue::create(depth, sink);
    let found = downcast(Some(&*queue), Subtype::NoSubtype)?;
    Ok(CompletionQueueParts {
        queue,
        poller: Box::new(Reading { poller, queue: found, waits: false }),
    })
}

impl CompletionPoller for Reading {
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        let count = self.poller.poll(into);
        if count == 0 && !into.is_empty() && self.queue.links.poll() {
            return self.poller.poll(into);
        }
        count
    }

    fn take(&mut self, into: &mut Success) -> Taken {
        match self.poller.take(into) {
            Taken::Nothing if self.queue.links.poll() => self.poller.take(into),
            taken => taken,
        }
    }

    fn notify(&mut self, mode: Notify) -> bool {
        let waits = mode != Notify::Off;
        if waits != self.waits {
            self.waits = waits;
            self.queue.links.await_completions(waits);
        }
        self.poller.notify(mode)
    }

    fn resize(&mut self, depth: usize) -> Result<()> {
        self.queue.links.poll();
        self.poller.resize(depth)
    }
}
