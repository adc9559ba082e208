//! Completion queues whose polls read the links of the attached queue pairs.

use std::sync::Arc;

use dat_provider::error::{Result, Subtype};
use dat_provider::{
    Completion, CompletionPoller, CompletionQueueParts, CompletionSink, Notify, Success, Taken,
};

use crate::completion_queue::{self, Cq};

/// A poller that reads links when the completion queue is empty.
struct LinkPoller {
    poller: Box<dyn CompletionPoller>,
    queue: Arc<Cq>,
    /// Whether a waiter was announced, so that the thread must read the links.
    is_awaited: bool,
}

/// Creates a completion queue.
pub(super) fn create(depth: usize, sink: Arc<dyn CompletionSink>) -> Result<CompletionQueueParts> {
    let CompletionQueueParts { queue, poller } = completion_queue::create(depth, sink);
    let found = completion_queue::downcast(Some(&*queue), Subtype::NoSubtype)?;
    Ok(CompletionQueueParts {
        queue,
        poller: Box::new(LinkPoller { poller, queue: found, is_awaited: false }),
    })
}

impl CompletionPoller for LinkPoller {
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

    fn is_drained(&mut self) -> bool {
        self.poller.is_drained() && !self.queue.links.poll()
    }

    fn notify(&mut self, mode: Notify) -> bool {
        let is_awaited = mode != Notify::Off;
        if is_awaited != self.is_awaited {
            self.is_awaited = is_awaited;
            self.queue.links.await_completions(is_awaited);
        }
        self.poller.notify(mode)
    }

    fn resize(&mut self, depth: usize) -> Result<()> {
        self.queue.links.poll();
        self.poller.resize(depth)
    }
}
