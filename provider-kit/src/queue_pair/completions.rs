//! Completion queues whose polls read the links of the attached queue pairs.

use std::sync::Arc;

use dat_provider::error::Result;
use dat_provider::plain_success::{PlainSuccess, TakeResult};
use dat_provider::{Completion, CompletionPoller, CompletionQueueParts, CompletionSink, Notify};

use crate::completion_queue::{self, Cq, CqHandle, CqPoller};

/// A poller that reads links when the completion queue is empty.
struct LinkPoller {
    poller: CqPoller,
    queue: Arc<Cq>,
    /// True if a waiter was announced, so that the thread must read the links.
    is_awaited: bool,
}

/// Creates a completion queue.
///
/// # Errors
/// As [`completion_queue::create`].
pub(super) fn create(depth: usize, sink: Arc<dyn CompletionSink>) -> Result<CompletionQueueParts> {
    let (queue, poller) = completion_queue::create_with_poller(depth, sink)?;
    let poller = LinkPoller { poller, queue: Arc::clone(&queue), is_awaited: false };
    Ok(CompletionQueueParts { queue: Arc::new(CqHandle(queue)), poller: Box::new(poller) })
}

impl CompletionPoller for LinkPoller {
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        let count = self.poller.poll(into);
        if count == 0 && !into.is_empty() && self.queue.links.poll() {
            return self.poller.poll(into);
        }
        count
    }

    fn take_success(&mut self, into: &mut PlainSuccess) -> TakeResult {
        match self.poller.take_success(into) {
            TakeResult::Nothing if self.queue.links.poll() => self.poller.take_success(into),
            taken => taken,
        }
    }

    // Does not read the links: a read that finds nothing before the consumer can reply would acknowledge the peer's
    // request in a separate frame.
    fn queued(&mut self) -> Option<usize> {
        self.poller.queued()
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

#[cfg(all(test, not(loom)))]
mod tests {
    use dat_provider::CompletionFeatures;
    use dat_provider::error::Subtype;

    use super::*;
    use crate::completion_queue::IgnoringSink;
    use crate::completion_target::CompletionTarget;
    use crate::polled_links::quiet_link::QuietLink;
    use crate::upcalls::Upcalls;

    #[test]
    fn completions_are_counted_without_reading_the_links() {
        let CompletionQueueParts { queue, mut poller } =
            create(32, Arc::new(IgnoringSink)).expect("memory");
        let queue = completion_queue::downcast(Some(&*queue), Subtype::NoSubtype).expect("its own");
        queue.links.add(Arc::new(QuietLink));
        let attachment = queue.attach();
        let target = CompletionTarget::new(0, Arc::clone(&queue), attachment.index());
        let features = CompletionFeatures { unsignalled: false, solicited: false, failed: false };
        for count in 0..=20 {
            let expected = (count <= 8).then_some(count);
            assert_eq!(poller.queued(), expected, "more than eight are not counted");
            target.complete(Completion::default(), features, &mut Upcalls::default());
        }
        assert_eq!(queue.links.polls(), 0);
        assert_eq!(poller.poll(&mut [Completion::default(); 32]), 21);
        assert_eq!(poller.queued(), Some(0));
        assert_eq!(poller.poll(&mut [Completion::default()]), 0);
        assert_eq!(queue.links.polls(), 1, "an empty queue is polled");
    }
}
