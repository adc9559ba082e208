//! The destination of a work queue's completions.

use std::sync::Arc;

use dat_provider::Failure;
use dat_provider::status::Operation;
use dat_provider::{Completion, CompletionFeatures};

use crate::completion_queue::Cq;
use crate::completion_ring::Plain;
use crate::upcalls::Upcalls;

/// Where operations of a work queue complete. Clones refer to the same work queue.
#[derive(Clone)]
#[repr(C)]
pub struct CompletionTarget {
    queue: Arc<Cq>,
    tag: u64,
    /// Index of the work queue in the completion queue.
    work_queue: u32,
}

impl CompletionTarget {
    /// The target of the work queue with this index in a completion queue.
    pub fn new(tag: u64, queue: Arc<Cq>, work_queue: u32) -> Self {
        Self { queue, tag, work_queue }
    }

    /// A target whose completions are dropped.
    pub fn discarding() -> Self {
        let queue = Cq::discarding();
        let index = queue.attach().index();
        Self::new(0, queue, index)
    }

    /// The completion queue.
    pub fn queue(&self) -> &Arc<Cq> {
        &self.queue
    }

    /// Completes an operation that succeeded, without `extra`.
    #[inline(always)]
    pub fn succeed(
        &self,
        (cookie, length, operation): (u64, u64, Operation),
        features: CompletionFeatures,
        upcalls: &mut Upcalls,
    ) {
        let (tag, work_queue) = (&self.tag, &self.work_queue);
        let entry = || Plain { tag: *tag, cookie, length, operation, work_queue: *work_queue };
        if self.queue.push_plain(entry) {
            return;
        }
        let completion = Completion { cookie, length, operation, ..Completion::default() };
        self.complete(completion, features, upcalls);
    }

    /// Completes an operation; the target sets the tag.
    #[cold]
    #[inline(never)]
    pub fn complete(
        &self,
        completion: Completion,
        features: CompletionFeatures,
        upcalls: &mut Upcalls,
    ) {
        let completion = Completion { tag: self.tag, ..completion };
        self.queue.push(self.work_queue, completion, features, upcalls);
    }

    /// Returns the first failure since the last reset, except flushed operations.
    pub fn failure(&self) -> Option<Failure> {
        self.queue.failure(self.work_queue)
    }

    /// Clears the first failure, because the queue pair is being reset.
    pub fn clear_failure(&self) {
        self.queue.clear_failure(self.work_queue);
    }

    /// Returns the credit of an operation whose completion is suppressed.
    pub fn suppress(&self) {
        self.queue.suppress(self.work_queue);
    }
}
