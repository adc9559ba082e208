//! Where finished operations go.

use std::sync::Arc;

use dat_provider::Failure;
use dat_provider::status::Operation;
use dat_provider::{Completion, CompletionFeatures};

use crate::completion_queue::Queue;
use crate::completion_ring::Plain;
use crate::shared_receive::Shared;

/// Where one work queue of a queue pair completes: all that a completion needs, at hand. A clone
/// is the same outlet.
#[derive(Clone)]
#[repr(C)]
pub struct Outlet {
    queue: Arc<Queue>,
    tag: u64,
    /// What the queue knows the work queue by.
    source: u32,
}

impl Outlet {
    /// The outlet to a completion queue, which knows the work queue by that number.
    pub fn new(tag: u64, queue: Arc<Queue>, source: u32) -> Self {
        Self { queue, tag, source }
    }

    /// Where it goes.
    pub fn queue(&self) -> &Arc<Queue> {
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
    pub fn begin_anew(&self) {
        self.queue.forget_failure(self.source);
    }

    /// Frees the room of an operation that is not reported.
    pub fn skip(&self) {
        self.queue.skip(self.source);
    }
}

/// The upcalls that some work calls for; kept until the locks are released. Mostly there are
/// none, and then it is no more than an empty word.
#[derive(Default)]
#[must_use]
pub struct Upcalls(Option<Box<Noted>>);

#[derive(Default)]
struct Noted {
    /// Completion queues, each once for every work queue that completed something.
    queues: Vec<Told>,
    /// The shared receive queue that fell below its watermark.
    watermark: Option<Arc<Shared>>,
}

/// What a completion queue must report.
struct Told {
    queue: Arc<Queue>,
    source: u32,
    ready: bool,
    overflow: bool,
}

impl Upcalls {
    /// Notes that a queue has a completion for its waiter.
    #[cold]
    pub fn ready(&mut self, queue: &Arc<Queue>, source: u32) {
        self.told(queue, source).ready = true;
    }

    /// Notes that the queue was full when a completion arrived.
    #[cold]
    pub fn overflow(&mut self, queue: &Arc<Queue>, source: u32) {
        self.told(queue, source).overflow = true;
    }

    /// Notes that a shared receive queue fell below its watermark.
    #[cold]
    pub fn watermark(&mut self, shared: &Arc<Shared>) {
        self.0.get_or_insert_with(Box::default).watermark = Some(Arc::clone(shared));
    }

    fn told(&mut self, queue: &Arc<Queue>, source: u32) -> &mut Told {
        let queues = &mut self.0.get_or_insert_with(Box::default).queues;
        let known =
            queues.iter().position(|told| told.source == source && Arc::ptr_eq(&told.queue, queue));
        let index = known.unwrap_or(queues.len());
        if index == queues.len() {
            queues.push(Told { queue: Arc::clone(queue), source, ready: false, overflow: false });
        }
        &mut queues[index]
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Makes them; no lock may be held.
    #[inline]
    pub fn deliver(self) {
        if let Some(noted) = self.0 {
            noted.deliver();
        }
    }
}

impl Noted {
    #[cold]
    fn deliver(self) {
        for told in self.queues {
            told.queue.report(told.ready, told.overflow);
        }
        if let Some(shared) = self.watermark {
            shared.report_watermark();
        }
    }
}
