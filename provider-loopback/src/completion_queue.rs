//! Completion queues: a ring under a lock of its own, always the last one taken.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::provider::{
    Completion, CompletionFeatures, CompletionPoller, CompletionQueue, CompletionQueueParts,
    CompletionSink, Notify,
};
use parking_lot::Mutex;

use crate::outlet::{Credits, Upcall};

pub(crate) struct Queue {
    /// As many as are waiting, so that polling an empty queue takes no lock.
    waiting: AtomicUsize,
    ring: Mutex<Ring>,
    sink: Arc<dyn CompletionSink>,
}

struct Ring {
    slots: Box<[Slot]>,
    head: usize,
    len: usize,
    notify: Notify,
    /// The poller is gone: nobody will take completions any more.
    closed: bool,
    sources: Vec<Source>,
    /// Entries of `sources` that are free.
    vacant: Vec<usize>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    completion: Completion,
    source: usize,
}

/// A work queue that completes here.
struct Source {
    /// Absent when the entry is free.
    credits: Option<Arc<Credits>>,
    /// Completions on the queue; the entry stays as long as there are any.
    waiting: u32,
    attached: bool,
}

/// The half that queue pairs are made with.
pub(crate) struct Handle(pub(crate) Arc<Queue>);

struct Poller(Arc<Queue>);

pub(crate) fn create(depth: usize, sink: Arc<dyn CompletionSink>) -> CompletionQueueParts {
    let ring = Ring {
        slots: vec![Slot::default(); depth.max(1)].into(),
        head: 0,
        len: 0,
        notify: Notify::Off,
        closed: false,
        sources: Vec::new(),
        vacant: Vec::new(),
    };
    let queue = Arc::new(Queue { waiting: AtomicUsize::new(0), ring: Mutex::new(ring), sink });
    CompletionQueueParts {
        queue: Arc::new(Handle(Arc::clone(&queue))),
        poller: Box::new(Poller(queue)),
    }
}

impl Queue {
    /// Makes a work queue known; its credits are released as its completions are polled.
    pub(crate) fn attach(&self, credits: Arc<Credits>) -> usize {
        let mut ring = self.ring.lock();
        let source = Source { credits: Some(credits), waiting: 0, attached: true };
        match ring.vacant.pop() {
            Some(free) => {
                ring.sources[free] = source;
                free
            }
            None => {
                ring.sources.push(source);
                ring.sources.len() - 1
            }
        }
    }

    /// The work queue completes nothing here any more; what waits stays.
    pub(crate) fn detach(&self, source: usize) {
        let mut ring = self.ring.lock();
        ring.sources[source].attached = false;
        ring.release(source, 0);
    }

    /// Stores a completion, or notes that there was no room.
    pub(crate) fn push(
        self: &Arc<Self>,
        source: usize,
        completion: Completion,
        features: CompletionFeatures,
        upcall: &mut Upcall,
    ) {
        let mut ring = self.ring.lock();
        let ring = &mut *ring;
        ring.sources[source].waiting += 1;
        if ring.closed || ring.len == ring.slots.len() {
            // Nobody will poll it, so it frees its room now.
            ring.release(source, 1);
            if !ring.closed {
                upcall.overflow(self);
            }
            return;
        }
        let index = wrap(ring.head + ring.len, ring.slots.len());
        ring.slots[index] = Slot { completion, source };
        ring.len += 1;
        self.waiting.store(ring.len, Ordering::Release);
        if ring.notify.wants(features) {
            upcall.ready(self);
        }
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

impl CompletionQueue for Handle {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl CompletionPoller for Poller {
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        if self.0.waiting.load(Ordering::Acquire) == 0 {
            return 0;
        }
        let mut ring = self.0.ring.lock();
        let count = ring.take(into);
        self.0.waiting.store(ring.len, Ordering::Release);
        count
    }

    fn notify(&mut self, mode: Notify) -> bool {
        let mut ring = self.0.ring.lock();
        ring.notify = mode;
        ring.len > 0
    }

    fn resize(&mut self, depth: usize) -> Result<()> {
        let mut ring = self.0.ring.lock();
        if ring.len > depth {
            return Err(Error::new(ReturnType::InvalidState, Subtype::NoSubtype)
                .because(format!("{} completions are waiting, {depth} would fit", ring.len))
                .advise("dequeue completions first, or ask for a longer queue"));
        }
        let mut slots = vec![Slot::default(); depth.max(1)].into_boxed_slice();
        for (offset, slot) in slots.iter_mut().enumerate().take(ring.len) {
            *slot = ring.slots[wrap(ring.head + offset, ring.slots.len())];
        }
        ring.slots = slots;
        ring.head = 0;
        Ok(())
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        let mut ring = self.0.ring.lock();
        ring.closed = true;
        while ring.take(&mut [Completion::default(); 16]) > 0 {}
    }
}

impl Ring {
    /// Takes the oldest completions and releases their credits, runs of one source at once.
    fn take(&mut self, into: &mut [Completion]) -> usize {
        let count = into.len().min(self.len);
        let (mut source, mut run) = (0, 0);
        for place in &mut into[..count] {
            let slot = self.slots[self.head];
            *place = slot.completion;
            if slot.source != source && run > 0 {
                self.release(source, run);
                run = 0;
            }
            source = slot.source;
            run += 1;
            self.head = wrap(self.head + 1, self.slots.len());
        }
        if run > 0 {
            self.release(source, run);
        }
        self.len -= count;
        count
    }

    /// Completions of a source have left; its entry goes with the last after its end.
    fn release(&mut self, index: usize, count: u32) {
        let source = &mut self.sources[index];
        source.waiting -= count;
        let Some(credits) = &source.credits else { return };
        credits.release(count);
        if !source.attached && source.waiting == 0 {
            source.credits = None;
            self.vacant.push(index);
        }
    }
}

#[inline]
fn wrap(index: usize, capacity: usize) -> usize {
    if index >= capacity { index - capacity } else { index }
}
