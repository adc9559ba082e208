//! Completion queues: queue pairs store completions under a biased lock, and one poller takes them
//! without a lock.
//!
//! The lock of the producers is always the last one taken.

mod poller;
mod producer;

use std::sync::Arc;

use dat_provider::error::{Error, Result, Subtype};
use dat_provider::{
    Completion, CompletionFeatures, CompletionQueue, CompletionQueueParts, CompletionSink, Failure,
    Notify,
};

use crate::completion_ring::{CompletionRing, Entry, Plain};
use crate::credits::{Attachment, CreditPage, PollCount, page_of};
use crate::errors::foreign_object;
use crate::polled_links::PolledLinks;
use crate::sync::BiasedLock;
use crate::upcalls::Upcalls;
pub(crate) use poller::CqPoller;
use producer::Producer;

/// The part of a completion queue that queue pairs use.
#[repr(C)]
pub struct Cq {
    producer: BiasedLock<Producer>,
    poll_count: Arc<PollCount>,
    sink: Arc<dyn CompletionSink>,
    /// The links that a poll reads when the queue is empty; used by the engine.
    pub links: PolledLinks,
}

/// The object that represents a completion queue in the provider contract.
pub struct CqHandle(pub Arc<Cq>);

impl CompletionQueue for CqHandle {}

/// Creates a completion queue that holds at least `depth` completions.
///
/// # Errors
/// `DAT_INSUFFICIENT_RESOURCES` if there is no memory for them.
pub fn create(depth: usize, sink: Arc<dyn CompletionSink>) -> Result<CompletionQueueParts> {
    let (queue, poller) = create_with_poller(depth, sink)?;
    Ok(CompletionQueueParts { queue: Arc::new(CqHandle(queue)), poller: Box::new(poller) })
}

/// As [`create`], for a poller that another one contains.
pub(crate) fn create_with_poller(
    depth: usize,
    sink: Arc<dyn CompletionSink>,
) -> Result<(Arc<Cq>, CqPoller)> {
    let ring = CompletionRing::new(depth).ok_or_else(no_memory)?;
    let queue = Cq::new(Producer::new(ring, depth), sink);
    let poller = CqPoller::new(&queue);
    Ok((queue, poller))
}

#[cold]
fn no_memory() -> Error {
    Error::no_memory("a queue of that many completions")
}

/// The completion queue behind an object of the contract; without one, a queue that drops all
/// completions.
///
/// # Errors
/// `subtype`, which names the argument, if the object belongs to another provider.
pub fn downcast(queue: Option<&dyn CompletionQueue>, subtype: Subtype) -> Result<Arc<Cq>> {
    let Some(queue) = queue else { return Ok(Cq::discarding()) };
    match queue.as_any().downcast_ref::<CqHandle>() {
        Some(handle) => Ok(Arc::clone(&handle.0)),
        None => Err(foreign_object("completion queue", subtype)),
    }
}

/// The sink of a queue that drops its completions.
pub(crate) struct IgnoringSink;

impl CompletionSink for IgnoringSink {
    fn completion_ready(&self) {}

    fn completion_overflow(&self) {}
}

impl Cq {
    fn new(producer: Producer, sink: Arc<dyn CompletionSink>) -> Arc<Self> {
        let producer = BiasedLock::new(producer);
        Arc::new(Self { producer, poll_count: Arc::default(), sink, links: PolledLinks::default() })
    }

    /// A queue without a poller, which drops all completions.
    pub(crate) fn discarding() -> Arc<Self> {
        let producer = Producer::new(CompletionRing::single(), 0);
        let queue = Self::new(producer, Arc::new(IgnoringSink));
        queue.producer.lock().close();
        queue
    }

    /// Attaches a work queue, whose credits return as its completions are polled.
    pub fn attach(self: &Arc<Self>) -> Attachment {
        let mut producer = self.producer.lock();
        if producer.free.is_empty() {
            producer.reclaim(self.poll_count.taken());
        }
        let index = match producer.free.pop() {
            Some(free) => free,
            None => producer.add_page(Arc::new(CreditPage::new(self, &self.poll_count))),
        };
        Attachment::new(&producer.pages[page_of(index)], index)
    }

    /// Detaches a work queue. Its completions remain until they are polled.
    pub fn detach(&self, work_queue: u32) {
        let mut producer = self.producer.lock();
        let end = producer.tail;
        producer.detached.push((work_queue, end));
        producer.failures.retain(|(of, _)| *of != work_queue);
        if producer.detached.len() > producer.reclaim_threshold {
            producer.reclaim(self.poll_count.taken());
        }
    }

    /// Returns the first failure of a work queue since its last reset, except flushed operations.
    pub fn failure(&self, work_queue: u32) -> Option<Failure> {
        let producer = self.producer.lock();
        let found = producer.failures.iter().find(|(of, _)| *of == work_queue);
        found.map(|(_, failure)| failure.clone())
    }

    /// Clears the failure of a work queue, which is being reset.
    pub fn clear_failure(&self, work_queue: u32) {
        self.producer.lock().failures.retain(|(of, _)| *of != work_queue);
    }

    /// The position of the next completion.
    pub fn tail(&self) -> u64 {
        self.producer.lock().tail
    }

    /// Returns true if it has no space for another completion.
    pub fn is_full(&self) -> bool {
        let producer = self.producer.lock();
        !producer.is_closed && producer.tail.wrapping_sub(self.poll_count.taken()) >= producer.depth
    }

    /// Returns the credit of an operation whose completion is suppressed.
    pub fn suppress(&self, work_queue: u32) {
        self.producer.lock().page(work_queue).drop_one(work_queue);
    }

    /// The fast path: stores the completion of a plain success if there is space and no waiter sleeps. Otherwise
    /// returns false, without effect. `entry` is called last, to save registers.
    #[inline(always)]
    pub(crate) fn push_plain(&self, entry: impl FnOnce() -> Plain) -> bool {
        let Some(mut producer) = self.producer.lock_as_owner() else { return false };
        let position = producer.tail;
        if position == producer.fast_limit && !self.raise_fast_limit(&mut producer) {
            return false;
        }
        producer.ring.fill_plain(position, &entry());
        producer.tail = position + 1;
        true
    }

    /// Stores a completion, or notes an overflow.
    #[inline]
    pub fn push(
        self: &Arc<Self>,
        work_queue: u32,
        completion: Completion,
        features: CompletionFeatures,
        upcalls: &mut Upcalls,
    ) {
        let mut producer = self.producer.lock();
        // The status needs no description.
        if let Some(failure) = Failure::from_completion(&completion, String::new) {
            producer.record_failure(work_queue, failure);
        }
        if producer.tail == producer.limit && !self.raise_limit(&mut producer) {
            return self.refuse(&producer, work_queue, upcalls);
        }
        let position = producer.tail;
        if !producer.ring.fill(position, &Entry { completion, work_queue }) {
            return self.refuse(&producer, work_queue, upcalls);
        }
        producer.tail = position + 1;
        producer.fast_limit = producer.tail;
        if producer.notify != Notify::Off && producer.notify.wants(features) {
            upcalls.ready(self, work_queue);
        }
    }

    /// Returns the credit of a completion that is dropped.
    #[cold]
    fn refuse(self: &Arc<Self>, producer: &Producer, work_queue: u32, upcalls: &mut Upcalls) {
        producer.page(work_queue).drop_one(work_queue);
        if !producer.is_closed {
            upcalls.overflow(self, work_queue);
        }
    }

    /// Recomputes the limit. Returns true if there is space.
    #[cold]
    fn raise_limit(&self, producer: &mut Producer) -> bool {
        if !producer.is_closed {
            // The poller has read the slots that are about to be overwritten (Acquire in `taken`).
            producer.limit = self.poll_count.taken() + producer.depth;
        }
        producer.tail < producer.limit
    }

    /// As [`raise_limit`](Self::raise_limit), for the fast path, which makes no upcall.
    #[cold]
    #[inline(never)]
    fn raise_fast_limit(&self, producer: &mut Producer) -> bool {
        let has_space = producer.notify == Notify::Off && self.raise_limit(producer);
        producer.fast_limit = if has_space { producer.limit } else { producer.tail };
        has_space
    }

    /// Makes upcalls. The caller holds no lock.
    pub fn report(&self, ready: bool, overflow: bool) {
        if overflow {
            self.sink.completion_overflow();
        }
        if ready {
            self.sink.completion_ready();
        }
    }
}
