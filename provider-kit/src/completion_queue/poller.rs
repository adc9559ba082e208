//! The poller of a completion queue.

use std::sync::Arc;

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::plain_success::{PlainSuccess, TakeResult};
use dat_provider::{Completion, CompletionPoller, Notify};

use super::{Cq, no_memory};
use crate::completion_ring::{CompletionRing, Entry};
use crate::credits::{CreditPage, PollCount, page_of};

/// The poller. Fields are in the order of their use.
#[repr(C)]
pub(crate) struct CqPoller {
    /// The next position to poll.
    head: u64,
    ring: CompletionRing,
    /// A copy of the producers' list of pages.
    pages: Vec<Arc<CreditPage>>,
    poll_count: Arc<PollCount>,
    queue: Arc<Cq>,
    /// The mode that was last passed to the producers.
    notify: Notify,
}

/// At most this many completions are counted, because each wait counts them again.
const MAX_COUNTED: u64 = 8;

impl CompletionPoller for CqPoller {
    #[inline]
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        let mut count = 0;
        for completion_slot in into {
            let Some(Entry { completion, work_queue }) = self.ring.get(self.head) else { break };
            *completion_slot = completion;
            self.finish(work_queue);
            count += 1;
        }
        if count > 0 {
            self.poll_count.set(self.head);
        }
        count
    }

    #[inline]
    fn take_success(&mut self, into: &mut PlainSuccess) -> TakeResult {
        let Some(work_queue) = self.ring.get_success(self.head, into) else {
            return self.other_or_nothing();
        };
        let Some(page) = self.pages.get(page_of(work_queue)) else { return TakeResult::Other };
        page.release(work_queue);
        self.head += 1;
        self.poll_count.set(self.head);
        TakeResult::Success
    }

    #[inline]
    fn queued(&mut self) -> Option<usize> {
        let is_filled = |offset: &u64| self.ring.is_filled(self.head + offset);
        let count = (0..=MAX_COUNTED).take_while(is_filled).count();
        (count as u64 <= MAX_COUNTED).then_some(count)
    }

    fn notify(&mut self, mode: Notify) -> bool {
        // Every completion that is stored later has seen the mode.
        if mode != self.notify {
            self.notify = mode;
            let mut producer = self.queue.producer.lock();
            producer.notify = mode;
            producer.fast_limit = producer.tail;
        }
        self.ring.is_filled(self.head)
    }

    fn resize(&mut self, depth: usize) -> Result<()> {
        let mut producer = self.queue.producer.lock();
        let waiting = producer.tail - self.head;
        if waiting > depth as u64 {
            return Err(Error::new(ReturnType::InvalidState, Subtype::NoSubtype)
                .because(format!(
                    "{waiting} completions are queued, more than the new length of {depth}"
                ))
                .advise("dequeue completions first, or request a longer queue"));
        }
        let ring = CompletionRing::new(depth).ok_or_else(no_memory)?;
        for position in self.head..producer.tail {
            if self.ring.get(position).is_some_and(|entry| !ring.fill(position, &entry)) {
                return Err(no_memory());
            }
        }
        producer.depth = depth.max(1) as u64;
        producer.limit = self.head + producer.depth;
        producer.fast_limit = producer.tail;
        producer.ring = ring.clone();
        self.ring = ring;
        Ok(())
    }
}

impl CqPoller {
    pub(super) fn new(queue: &Arc<Cq>) -> Self {
        Self {
            head: 0,
            ring: queue.producer.lock().ring.clone(),
            pages: Vec::new(),
            poll_count: Arc::clone(&queue.poll_count),
            queue: Arc::clone(queue),
            notify: Notify::Off,
        }
    }

    /// Returns [`TakeResult::Other`] if a completion that is not a plain success is at the head.
    #[inline(always)]
    fn other_or_nothing(&self) -> TakeResult {
        if self.ring.is_filled(self.head) { TakeResult::Other } else { TakeResult::Nothing }
    }

    /// Returns the credit of the completion at the head, which has been read.
    #[inline]
    fn finish(&mut self, work_queue: u32) {
        // A page is added before its first completion is stored.
        if page_of(work_queue) >= self.pages.len() {
            self.update_pages();
        }
        if let Some(page) = self.pages.get(page_of(work_queue)) {
            page.release(work_queue);
        }
        // Last, because the index of the work queue may be reused as soon as `head` is published.
        self.head += 1;
    }

    /// Updates the copy of the list of pages.
    #[cold]
    fn update_pages(&mut self) {
        self.pages.clone_from(&self.queue.producer.lock().pages);
    }
}

impl Drop for CqPoller {
    fn drop(&mut self) {
        self.queue.producer.lock().close();
        while self.poll(&mut [Completion::default(); 16]) > 0 {}
    }
}
