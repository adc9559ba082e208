//! The state of a completion queue's producers, guarded by its lock.

use std::sync::Arc;

use dat_provider::{Failure, Notify};

use crate::completion_ring::CompletionRing;
use crate::credits::{CreditPage, QUEUES_PER_PAGE, page_of};

/// Detached work queues are reclaimed in batches of at least this many.
const MIN_RECLAIM: usize = 64;

/// The state of the producers. Fields are in the order of their use.
#[repr(C)]
pub(super) struct Producer {
    /// The next position to fill.
    pub(super) tail: u64,
    /// The fast path applies up to this position: there is space, and no waiter sleeps.
    pub(super) fast_limit: u64,
    pub(super) ring: CompletionRing,
    /// There is space up to this position; more may have been polled since.
    pub(super) limit: u64,
    pub(super) notify: Notify,
    /// True if the poller is gone, so that completions are dropped.
    pub(super) is_closed: bool,
    pub(super) depth: u64,
    /// The returned credits of the attached work queues.
    pub(super) pages: Vec<Arc<CreditPage>>,
    /// Free indices of work queues.
    pub(super) free: Vec<u32>,
    /// Detached work queues. The index of each is free once all completions up to its position are
    /// polled.
    pub(super) detached: Vec<(u32, u64)>,
    /// Number of detached work queues above which `reclaim` is called.
    pub(super) reclaim_threshold: usize,
    /// The first failure of each work queue since its last reset.
    pub(super) failures: Vec<(u32, Failure)>,
}

impl Producer {
    /// The state of a queue of this depth, whose ring has at least as many slots.
    pub(super) fn new(ring: CompletionRing, depth: usize) -> Self {
        let depth = depth.max(1) as u64;
        Self {
            tail: 0,
            fast_limit: depth,
            ring,
            limit: depth,
            notify: Notify::Off,
            is_closed: false,
            depth,
            pages: Vec::new(),
            free: Vec::new(),
            detached: Vec::new(),
            reclaim_threshold: MIN_RECLAIM,
            failures: Vec::new(),
        }
    }

    pub(super) fn page(&self, work_queue: u32) -> &CreditPage {
        &self.pages[page_of(work_queue)]
    }

    /// Records a failure, if it is the first one of its work queue.
    #[cold]
    pub(super) fn record_failure(&mut self, work_queue: u32, failure: Failure) {
        if self.failures.iter().all(|(of, _)| *of != work_queue) {
            self.failures.push((work_queue, failure));
        }
    }

    /// Adds a page for more work queues. Returns the first index on it.
    pub(super) fn add_page(&mut self, page: Arc<CreditPage>) -> u32 {
        let first = (self.pages.len() * QUEUES_PER_PAGE) as u32;
        self.pages.push(page);
        self.free.extend((first + 1..first + QUEUES_PER_PAGE as u32).rev());
        first
    }

    /// Frees the indices of detached work queues whose completions are all polled.
    #[cold]
    pub(super) fn reclaim(&mut self, taken: u64) {
        let free = &mut self.free;
        self.detached.retain(|&(work_queue, end)| {
            let is_pending = end > taken;
            if !is_pending {
                free.push(work_queue);
            }
            is_pending
        });
        self.reclaim_threshold = (self.detached.len() * 2).max(MIN_RECLAIM);
    }

    /// The poller is gone: drops all further completions.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.limit = self.tail;
        self.fast_limit = self.tail;
        self.notify = Notify::Off;
    }
}
