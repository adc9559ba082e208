//! Completion queues: producers under a lock of their own, always the last one taken, and one
//! poller that takes no lock.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use dat_core::Event;
use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::provider::{
    Completion, CompletionFeatures, CompletionPoller, CompletionQueue, CompletionQueueParts,
    CompletionSink, Notify,
};

use crate::completion_ring::{Entry, Plain, Slots};
use crate::outlet::{Credits, Upcalls};
use crate::sync::BiasedLock;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[repr(C)]
pub(crate) struct Queue {
    producer: BiasedLock<Producer>,
    poller: Progress,
    sink: Arc<dyn CompletionSink>,
}

/// What the poller writes, apart from what producers write.
#[repr(align(64))]
struct Progress {
    /// How many completions it took, ever.
    taken: AtomicU64,
    /// Whether there are news for it that no completion tells.
    news: AtomicBool,
}

/// In the order of its use.
#[repr(C)]
struct Producer {
    /// The next position to fill.
    tail: u64,
    /// Up to where completions can be stored without a further look: there is room, and nobody
    /// sleeps.
    plain: u64,
    slots: Slots,
    /// Up to where there is room; more may have been taken since.
    limit: u64,
    notify: Notify,
    /// The poller is gone: nobody will take completions any more.
    closed: bool,
    depth: u64,
    /// The work queues that complete here; absent when one is gone.
    sources: Vec<Option<Arc<Credits>>>,
    /// Entries of `sources` that are free.
    vacant: Vec<u32>,
    /// What the poller does not know yet.
    news: Vec<News>,
    /// So much of it is worth a look at what needs no telling.
    patience: usize,
}

/// News that are never too many.
const FEW: usize = 64;

/// News of a source, in the order of what happened.
enum News {
    Known {
        source: u32,
        credits: Arc<Credits>,
    },
    /// The source is gone when everything up to that position was taken.
    Gone {
        source: u32,
        after: u64,
    },
}

/// The half that queue pairs are made with.
pub(crate) struct Handle(pub(crate) Arc<Queue>);

/// In the order of its use.
#[repr(C)]
struct Poller {
    /// The next position to take.
    head: u64,
    slots: Slots,
    /// The credits of the sources that it knows.
    sources: Vec<Option<Arc<Credits>>>,
    queue: Arc<Queue>,
    /// What was told to the producers.
    notify: Notify,
}

pub(crate) fn create(depth: usize, sink: Arc<dyn CompletionSink>) -> CompletionQueueParts {
    let slots = Slots::new(depth);
    let depth = depth.max(1) as u64;
    let producer = BiasedLock::new(Producer {
        tail: 0,
        plain: depth,
        slots: slots.clone(),
        limit: depth,
        notify: Notify::Off,
        closed: false,
        depth,
        sources: Vec::new(),
        vacant: Vec::new(),
        news: Vec::new(),
        patience: FEW,
    });
    let poller = Progress { taken: AtomicU64::new(0), news: AtomicBool::new(false) };
    let queue = Arc::new(Queue { producer, poller, sink });
    CompletionQueueParts {
        queue: Arc::new(Handle(Arc::clone(&queue))),
        poller: Box::new(Poller {
            queue,
            slots,
            head: 0,
            notify: Notify::Off,
            sources: Vec::new(),
        }),
    }
}

impl Queue {
    /// Makes a work queue known; its credits are released as its completions are polled.
    pub(crate) fn attach(&self, credits: Arc<Credits>) -> u32 {
        let mut producer = self.producer.lock();
        let source = match producer.vacant.pop() {
            Some(free) => {
                producer.sources[free as usize] = Some(Arc::clone(&credits));
                free
            }
            None => {
                producer.sources.push(Some(Arc::clone(&credits)));
                (producer.sources.len() - 1) as u32
            }
        };
        self.tell(&mut producer, News::Known { source, credits });
        source
    }

    /// The work queue completes nothing here any more; what waits stays.
    pub(crate) fn detach(&self, source: u32) {
        let mut producer = self.producer.lock();
        producer.sources[source as usize] = None;
        let after = producer.tail;
        self.tell(&mut producer, News::Gone { source, after });
    }

    /// Has the poller learn something before it takes what is stored from now on.
    fn tell(&self, producer: &mut Producer, news: News) {
        if producer.closed {
            if let News::Gone { source, .. } = news {
                producer.vacant.push(source);
            }
            return;
        }
        producer.news.push(news);
        if producer.news.len() > producer.patience {
            producer.forget_vain_news(self.poller.taken.load(Ordering::Acquire));
        }
        self.poller.news.store(true, Ordering::Release);
    }

    /// Stores the completion of a plain success, if it is one of many: there is room, and nobody
    /// sleeps. Otherwise nothing has happened. The entry is made at last, for what is loaded
    /// before occupies registers.
    #[inline(always)]
    pub(crate) fn push_plain(&self, entry: impl FnOnce() -> Plain) -> bool {
        let Some(mut producer) = self.producer.lock_as_owner() else { return false };
        let position = producer.tail;
        if position == producer.plain && !self.find_plain_room(&mut producer) {
            return false;
        }
        let filled = producer.slots.fill_plain(position, &entry());
        producer.tail = position + u64::from(filled);
        filled
    }

    /// Stores a completion, or notes that there was no room.
    #[inline]
    pub(crate) fn push(
        self: &Arc<Self>,
        source: u32,
        completion: Completion,
        features: CompletionFeatures,
        upcalls: &mut Upcalls,
    ) {
        let mut producer = self.producer.lock();
        if producer.tail == producer.limit && !self.find_room(&mut producer) {
            return self.refuse(&producer, source, upcalls);
        }
        let position = producer.tail;
        producer.slots.fill(position, &Entry { completion, source });
        producer.tail = position + 1;
        producer.plain = producer.tail;
        if producer.notify != Notify::Off && producer.notify.wants(features) {
            upcalls.ready(self, source);
        }
    }

    /// Nobody will poll a completion, so it frees its room now.
    #[cold]
    fn refuse(self: &Arc<Self>, producer: &Producer, source: u32, upcalls: &mut Upcalls) {
        if let Some(credits) = &producer.sources[source as usize] {
            credits.drop_one();
        }
        if !producer.closed {
            upcalls.overflow(self, source);
        }
    }

    /// Looks again how far the poller is.
    #[cold]
    fn find_room(&self, producer: &mut Producer) -> bool {
        if !producer.closed {
            // Acquire: the poller has read what is about to be overwritten.
            producer.limit = self.poller.taken.load(Ordering::Acquire) + producer.depth;
        }
        producer.tail < producer.limit
    }

    /// As [`find_room`](Self::find_room), of which nobody must be told.
    #[cold]
    #[inline(never)]
    fn find_plain_room(&self, producer: &mut Producer) -> bool {
        let found = producer.notify == Notify::Off && self.find_room(producer);
        producer.plain = if found { producer.limit } else { producer.tail };
        found
    }

    /// Makes the upcalls that were noted; no lock is held.
    pub(crate) fn report(&self, ready: bool, overflow: bool) {
        if overflow {
            self.sink.completion_overflow();
        }
        if ready {
            self.sink.completion_ready();
        }
    }
}

impl Producer {
    /// Drops the news of sources that are gone and never completed anything: had the poller taken
    /// a completion of theirs, it would have learnt of them.
    #[cold]
    fn forget_vain_news(&mut self, taken: u64) {
        let known = self.news.iter().filter_map(|news| match news {
            News::Known { source, .. } => Some(*source),
            News::Gone { .. } => None,
        });
        let untold: BTreeSet<u32> = known.collect();
        let gone = self.news.iter().filter_map(|news| match news {
            News::Gone { source, after } if *after <= taken => Some(*source),
            _ => None,
        });
        let vain: BTreeSet<u32> = gone.filter(|source| untold.contains(source)).collect();
        self.news.retain(|news| {
            let (News::Known { source, .. } | News::Gone { source, .. }) = news;
            !vain.contains(source)
        });
        self.vacant.extend(vain);
        self.patience = (self.news.len() * 2).max(FEW);
    }
}

impl CompletionQueue for Handle {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl CompletionPoller for Poller {
    #[inline]
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        let mut count = 0;
        for place in into {
            let Some(Entry { completion, source }) = self.slots.get(self.head) else { break };
            *place = completion;
            self.finish(source);
            count += 1;
        }
        if count > 0 {
            // Release: the slots were read.
            self.queue.poller.taken.store(self.head, Ordering::Release);
        } else if self.queue.poller.news.load(Ordering::Relaxed) {
            self.learn();
        }
        count
    }

    #[inline]
    fn take(&mut self, event: &mut Event) -> bool {
        let Some((completion, source)) = self.slots.get_plain(self.head) else {
            return self.take_any(event);
        };
        let Some(Some(credits)) = self.sources.get(source as usize) else {
            return self.take_any(event);
        };
        if !event.become_dto(completion) {
            return self.take_any(event);
        }
        credits.release();
        self.head += 1;
        self.queue.poller.taken.store(self.head, Ordering::Release);
        true
    }

    fn notify(&mut self, mode: Notify) -> bool {
        // Any arrival since the mode was set has looked at it.
        if mode != self.notify {
            self.notify = mode;
            let mut producer = self.queue.producer.lock();
            producer.notify = mode;
            producer.plain = producer.tail;
        }
        self.slots.is_filled(self.head)
    }

    fn resize(&mut self, depth: usize) -> Result<()> {
        let mut producer = self.queue.producer.lock();
        let waiting = producer.tail - self.head;
        if waiting > depth as u64 {
            return Err(Error::new(ReturnType::InvalidState, Subtype::NoSubtype)
                .because(format!("{waiting} completions are waiting, {depth} would fit"))
                .advise("dequeue completions first, or ask for a longer queue"));
        }
        let slots = Slots::new(depth);
        for position in self.head..producer.tail {
            if let Some(entry) = self.slots.get(position) {
                slots.fill(position, &entry);
            }
        }
        producer.depth = depth.max(1) as u64;
        producer.limit = self.head + producer.depth;
        producer.plain = producer.tail;
        producer.slots = slots.clone();
        self.slots = slots;
        Ok(())
    }
}

impl Poller {
    /// As [`take`](CompletionPoller::take), in every case.
    #[inline(never)]
    fn take_any(&mut self, event: &mut Event) -> bool {
        let Some(Entry { completion, source }) = self.slots.get(self.head) else {
            if self.queue.poller.news.load(Ordering::Relaxed) {
                self.learn();
            }
            return false;
        };
        event.complete(completion);
        self.finish(source);
        self.queue.poller.taken.store(self.head, Ordering::Release);
        true
    }

    /// The completion at the head was read.
    #[inline]
    fn finish(&mut self, source: u32) {
        let index = source as usize;
        // Who stored it has told of its source before.
        if self.sources.get(index).is_none_or(Option::is_none) {
            self.learn();
        }
        if let Some(Some(credits)) = self.sources.get(index) {
            credits.release();
        }
        // Last: its source is not gone before.
        self.head += 1;
    }

    /// Takes up what the producers have to tell.
    #[cold]
    fn learn(&mut self) {
        let mut producer = self.queue.producer.lock();
        for news in std::mem::take(&mut producer.news) {
            match news {
                News::Known { source, credits } => {
                    let index = source as usize;
                    if self.sources.len() <= index {
                        self.sources.resize(index + 1, None);
                    }
                    self.sources[index] = Some(credits);
                }
                News::Gone { source, after } if after <= self.head => {
                    self.sources[source as usize] = None;
                    producer.vacant.push(source);
                }
                later @ News::Gone { .. } => producer.news.push(later),
            }
        }
        let more = !producer.news.is_empty();
        self.queue.poller.news.store(more, Ordering::Relaxed);
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        {
            let mut producer = self.queue.producer.lock();
            producer.closed = true;
            producer.limit = producer.tail;
            producer.plain = producer.tail;
            producer.notify = Notify::Off;
        }
        while self.poll(&mut [Completion::default(); 16]) > 0 {}
    }
}
