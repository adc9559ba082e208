//! Where finished operations go.

use std::sync::Arc;

use dat_provider::Failure;
use dat_provider::status::Operation;
use dat_provider::{Completion, CompletionFeatures};

use crate::completion_queue::Cq;
use crate::completion_ring::Plain;
use crate::upcalls::Upcalls;

/// Where one work queue of a queue pair completes: all that a completion needs, at hand. A clone
/// is the same outlet.
#[derive(Clone)]
#[repr(C)]
pub struct CompletionTarget {
    queue: Arc<Cq>,
    tag: u64,
    /// What the queue knows the work queue by.
    source: u32,
}

impl CompletionTarget {
    /// The outlet to a completion queue, which knows the work queue by that number.
    pub fn new(tag: u64, queue: Arc<Cq>, source: u32) -> Self {
        Self { queue, tag, source }
    }

    /// A target whose completions are dropped.
    pub fn discarding() -> Self {
        let queue = Cq::discarding();
        let index = queue.attach().index();
        Self::new(0, queue, index)
    }

    /// Where it goes.
    pub fn queue(&self) -> &Arc<Cq> {
        &self.queue
    }

    /// Reports an operation that succeeded and has nothing more to say.
    #[inline(always)]
    pub fn succeed(
        &self,
        (cookie, length, operation): (u64, u64, Operation),
        features: CompletionFeatures,
        upcalls: &mut Upcalls,
    ) {
        let (tag, source) = (&self.tag, &self.source);
        let entry = || Plain { tag: *tag, cookie, length, operation, source: *source };
        if self.queue.push_plain(entry) {
            return;
        }
        let completion = Completion { cookie, length, operation, ..Completion::default() };
        self.complete(completion, features, upcalls);
    }

    /// Reports a finished operation; the outlet sets the tag.
    #[cold]
    #[inline(never)]
    pub fn complete(
        &self,
        completion: Completion,
        features: CompletionFeatures,
        upcalls: &mut Upcalls,
    ) {
        let completion = Completion { tag: self.tag, ..completion };
        self.queue.push(self.source, completion, features, upcalls);
    }

    /// The first operation that failed by itself since the last reset.
    pub fn failure(&self) -> Option<Failure> {
        self.queue.failure(self.source)
    }

    /// Forgets what failed.
    pub fn clear_failure(&self) {
        self.queue.clear_failure(self.source);
    }

    /// Frees the room of an operation that is not reported.
    pub fn suppress(&self) {
        self.queue.suppress(self.source);
    }
}
