//! Completion queues: producers under a lock of their own, always the last one taken, and one
//! poller that takes no lock.

use std::sync::Arc;

use dat_provider::Failure;
use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::{
    Completion, CompletionFeatures, CompletionPoller, CompletionQueue, CompletionQueueParts,
    CompletionSink, Notify, Success, Taken,
};

use crate::completion_ring::{CompletionRing, Entry, Plain};
use crate::credits::{Attachment, CELLS, Page, page_of};
use crate::errors::foreign_object;
use crate::polled_links::PolledLinks;
use crate::sync::BiasedLock;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::upcalls::Upcalls;

/// The half of a completion queue that producers use.
#[repr(C)]
pub struct Cq {
    producer: BiasedLock<Producer>,
    progress: Arc<Progress>,
    sink: Arc<dyn CompletionSink>,
    /// What pollers check when there is nothing to take; used by engines.
    pub links: PolledLinks,
}

/// How many completions the poller took, ever; apart from what producers write.
#[repr(align(64))]
#[derive(Default)]
pub struct Progress(AtomicU64);

impl Progress {
    /// Acquire: what the poller did before is seen.
    pub fn taken(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Release: the slots were read, and their room was counted.
    #[inline(always)]
    fn note(&self, taken: u64) {
        self.0.store(taken, Ordering::Release);
    }
}

/// In the order of its use.
#[repr(C)]
struct Producer {
    /// The next position to fill.
    tail: u64,
    /// Up to where completions can be stored without a further check: there is space, and no waiter
    /// sleeps.
    plain: u64,
    ring: CompletionRing,
    /// Up to where there is room; more may have been taken since.
    limit: u64,
    notify: Notify,
    /// The poller is gone: no completion will be taken any more.
    closed: bool,
    depth: u64,
    /// Counters of the work queues that complete here.
    pages: Vec<Arc<Page>>,
    /// Work queues that there is place for without another page.
    vacant: Vec<u32>,
    /// Work queues that are gone when everything up to that position was taken.
    gone: Vec<(u32, u64)>,
    /// Number of them from which on a check is worthwhile.
    patience: usize,
    /// The first failure of each work queue that had one since it was reset.
    failures: Vec<(u32, Failure)>,
}

/// Those that are gone are never too many.
const FEW: usize = 64;

/// The half that queue pairs are made with.
pub struct CqHandle(pub Arc<Cq>);

/// In the order of its use.
#[repr(C)]
struct CqPoller {
    /// The next position to take.
    head: u64,
    ring: CompletionRing,
    /// The pages that it knows.
    pages: Vec<Arc<Page>>,
    progress: Arc<Progress>,
    queue: Arc<Cq>,
    /// The mode that the producers know.
    notify: Notify,
}

/// Makes a completion queue that holds at least `depth` completions.
pub fn create(depth: usize, sink: Arc<dyn CompletionSink>) -> CompletionQueueParts {
    let queue = Cq::new(depth, sink);
    let ring = queue.producer.lock().ring.clone();
    CompletionQueueParts {
        queue: Arc::new(CqHandle(Arc::clone(&queue))),
        poller: Box::new(CqPoller {
            progress: Arc::clone(&queue.progress),
            queue,
            ring,
            head: 0,
            notify: Notify::Off,
            pages: Vec::new(),
        }),
    }
}

/// The queue behind a handle of the contract, if there is one; `subtype` says which argument it is.
pub fn downcast(queue: Option<&dyn CompletionQueue>, subtype: Subtype) -> Result<Arc<Cq>> {
    let Some(queue) = queue else { return Ok(Cq::discarding()) };
    match queue.as_any().downcast_ref::<CqHandle>() {
        Some(handle) => Ok(Arc::clone(&handle.0)),
        None => Err(foreign_object("completion queue", subtype)),
    }
}

/// A sink that ignores upcalls.
struct Ignored;

impl CompletionSink for Ignored {
    fn completion_ready(&self) {}

    fn completion_overflow(&self) {}
}

impl Cq {
    fn new(depth: usize, sink: Arc<dyn CompletionSink>) -> Arc<Self> {
        let ring = CompletionRing::new(depth);
        let depth = depth.max(1) as u64;
        let producer = BiasedLock::new(Producer {
            tail: 0,
            plain: depth,
            ring,
            limit: depth,
            notify: Notify::Off,
            closed: false,
            depth,
            pages: Vec::new(),
            vacant: Vec::new(),
            gone: Vec::new(),
            patience: FEW,
            failures: Vec::new(),
        });
        Arc::new(Self { producer, progress: Arc::default(), sink, links: PolledLinks::default() })
    }

    /// A queue without a poller, for completions that are not wanted.
    pub(crate) fn discarding() -> Arc<Self> {
        let queue = Self::new(0, Arc::new(Ignored));
        queue.producer.lock().close();
        queue
    }

    /// A place for a work queue, whose room is counted as its completions are polled.
    pub fn attach(self: &Arc<Self>) -> Attachment {
        let mut producer = self.producer.lock();
        if producer.vacant.is_empty() {
            producer.forget_gone(self.progress.taken());
        }
        let source = match producer.vacant.pop() {
            Some(vacant) => vacant,
            None => producer.add_page(Arc::new(Page::new(self, &self.progress))),
        };
        Attachment::new(&producer.pages[page_of(source)], source)
    }

    /// The work queue completes nothing here any more; what waits stays.
    pub fn detach(&self, source: u32) {
        let mut producer = self.producer.lock();
        let after = producer.tail;
        producer.gone.push((source, after));
        producer.failures.retain(|(of, _)| *of != source);
        if producer.gone.len() > producer.patience {
            producer.forget_gone(self.progress.taken());
        }
    }

    /// The first failure of a work queue, that was not flushed.
    pub fn failure(&self, source: u32) -> Option<Failure> {
        let producer = self.producer.lock();
        let found = producer.failures.iter().find(|(of, _)| *of == source);
        found.map(|(_, failure)| failure.clone())
    }

    /// The work queue is reset.
    pub fn clear_failure(&self, source: u32) {
        self.producer.lock().failures.retain(|(of, _)| *of != source);
    }

    /// The position that the next completion gets.
    pub fn tail(&self) -> u64 {
        self.producer.lock().tail
    }

    /// An operation of a work queue ended that is not reported.
    pub fn suppress(&self, source: u32) {
        self.producer.lock().page(source).drop_one(source);
    }

    /// The fast path: stores the completion of a plain success if there is space and no waiter
    /// sleeps. Otherwise nothing has happened. The entry is made at last, for what is loaded
    /// before occupies registers.
    #[inline(always)]
    pub(crate) fn push_plain(&self, entry: impl FnOnce() -> Plain) -> bool {
        let Some(mut producer) = self.producer.lock_as_owner() else { return false };
        let position = producer.tail;
        if position == producer.plain && !self.find_plain_room(&mut producer) {
            return false;
        }
        producer.ring.fill_plain(position, &entry());
        producer.tail = position + 1;
        true
    }

    /// Stores a completion, or notes that the queue was full.
    #[inline]
    pub fn push(
        self: &Arc<Self>,
        source: u32,
        completion: Completion,
        features: CompletionFeatures,
        upcalls: &mut Upcalls,
    ) {
        let mut producer = self.producer.lock();
        // The status says all there is to say.
        if let Some(failure) = Failure::of(&completion, String::new) {
            producer.remember(source, failure);
        }
        if producer.tail == producer.limit && !self.find_room(&mut producer) {
            return self.refuse(&producer, source, upcalls);
        }
        let position = producer.tail;
        producer.ring.fill(position, &Entry { completion, source });
        producer.tail = position + 1;
        producer.plain = producer.tail;
        if producer.notify != Notify::Off && producer.notify.wants(features) {
            upcalls.ready(self, source);
        }
    }

    /// Returns the credit of a completion that will not be polled.
    #[cold]
    fn refuse(self: &Arc<Self>, producer: &Producer, source: u32, upcalls: &mut Upcalls) {
        producer.page(source).drop_one(source);
        if !producer.closed {
            upcalls.overflow(self, source);
        }
    }

    /// Looks again how far the poller is.
    #[cold]
    fn find_room(&self, producer: &mut Producer) -> bool {
        if !producer.closed {
            // Acquire: the poller has read what is about to be overwritten.
            producer.limit = self.progress.taken() + producer.depth;
        }
        producer.tail < producer.limit
    }

    /// As [`find_room`](Self::find_room), without an upcall.
    #[cold]
    #[inline(never)]
    fn find_plain_room(&self, producer: &mut Producer) -> bool {
        let found = producer.notify == Notify::Off && self.find_room(producer);
        producer.plain = if found { producer.limit } else { producer.tail };
        found
    }

    /// Makes the upcalls that were noted; no lock is held.
    pub fn report(&self, ready: bool, overflow: bool) {
        if overflow {
            self.sink.completion_overflow();
        }
        if ready {
            self.sink.completion_ready();
        }
    }
}

impl Producer {
    fn page(&self, source: u32) -> &Page {
        &self.pages[page_of(source)]
    }

    /// Keeps a failure, if it is the first of the work queue.
    #[cold]
    fn remember(&mut self, source: u32, failure: Failure) {
        if self.failures.iter().all(|(of, _)| *of != source) {
            self.failures.push((source, failure));
        }
    }

    /// Makes place for more work queues; for the first of them.
    fn add_page(&mut self, page: Arc<Page>) -> u32 {
        let first = (self.pages.len() * CELLS) as u32;
        self.pages.push(page);
        self.vacant.extend((first + 1..first + CELLS as u32).rev());
        first
    }

    /// Gives away the places of those that are gone, of which nothing waits any more.
    #[cold]
    fn forget_gone(&mut self, taken: u64) {
        let vacant = &mut self.vacant;
        self.gone.retain(|&(source, after)| {
            let waits = after > taken;
            if !waits {
                vacant.push(source);
            }
            waits
        });
        self.patience = (self.gone.len() * 2).max(FEW);
    }

    /// There are no polls from now on.
    fn close(&mut self) {
        self.closed = true;
        self.limit = self.tail;
        self.plain = self.tail;
        self.notify = Notify::Off;
    }
}

impl CompletionQueue for CqHandle {}

impl CompletionPoller for CqPoller {
    #[inline]
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        let mut count = 0;
        for place in into {
            let Some(Entry { completion, source }) = self.ring.get(self.head) else { break };
            *place = completion;
            self.finish(source);
            count += 1;
        }
        if count > 0 {
            self.progress.note(self.head);
        }
        count
    }

    #[inline]
    fn take(&mut self, into: &mut Success) -> Taken {
        let Some(source) = self.ring.get_success(self.head, into) else {
            return self.look();
        };
        let Some(page) = self.pages.get(page_of(source)) else { return Taken::Other };
        page.release(source);
        self.head += 1;
        self.progress.note(self.head);
        Taken::Success
    }

    fn notify(&mut self, mode: Notify) -> bool {
        // Every arrival since the mode was set has checked it.
        if mode != self.notify {
            self.notify = mode;
            let mut producer = self.queue.producer.lock();
            producer.notify = mode;
            producer.plain = producer.tail;
        }
        self.ring.is_filled(self.head)
    }

    fn resize(&mut self, depth: usize) -> Result<()> {
        let mut producer = self.queue.producer.lock();
        let waiting = producer.tail - self.head;
        if waiting > depth as u64 {
            return Err(Error::new(ReturnType::InvalidState, Subtype::NoSubtype)
                .because(format!(
                    "{waiting} completions are queued, more than the new length of \
                     {depth}"
                ))
                .advise("dequeue completions first, or request a longer queue"));
        }
        let ring = CompletionRing::new(depth);
        for position in self.head..producer.tail {
            if let Some(entry) = self.ring.get(position) {
                ring.fill(position, &entry);
            }
        }
        producer.depth = depth.max(1) as u64;
        producer.limit = self.head + producer.depth;
        producer.plain = producer.tail;
        producer.ring = ring.clone();
        self.ring = ring;
        Ok(())
    }
}

impl CqPoller {
    /// Whether there is anything to take.
    #[inline(never)]
    fn look(&mut self) -> Taken {
        if self.ring.is_filled(self.head) { Taken::Other } else { Taken::Nothing }
    }

    /// The completion at the head was read.
    #[inline]
    fn finish(&mut self, source: u32) {
        // The thread that stored it has its place from before.
        if page_of(source) >= self.pages.len() {
            self.learn();
        }
        if let Some(page) = self.pages.get(page_of(source)) {
            page.release(source);
        }
        // Last: its place is not given away before.
        self.head += 1;
    }

    /// Takes up the pages that were added.
    #[cold]
    fn learn(&mut self) {
        self.pages.clone_from(&self.queue.producer.lock().pages);
    }
}

impl Drop for CqPoller {
    fn drop(&mut self) {
        self.queue.producer.lock().close();
        while self.poll(&mut [Completion::default(); 16]) > 0 {}
    }
}
