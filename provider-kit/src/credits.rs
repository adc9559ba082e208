//! The credits that completions return, counted by the completion queue. The counters of its work
//! queues are adjacent, so that to poll the completions of many touches few cache lines.

use std::sync::{Arc, Weak};

use crate::completion_queue::{Cq, Progress};
use crate::sync::atomic::{AtomicU32, Ordering};

/// Work queues of a page.
pub const CELLS: usize = if cfg!(all(test, loom)) { 1 } else { 32 };

/// How many operations of each of some work queues are over, ever, modulo 2^32.
#[repr(C, align(64))]
pub struct Page {
    /// Those that were polled. Written by the poller.
    polled: [AtomicU32; CELLS],
    /// Completions that will not be polled.
    dropped: [AtomicU32; CELLS],
    progress: Arc<Progress>,
    queue: Weak<Cq>,
}

/// The page that a work queue is on.
#[inline(always)]
pub fn page_of(source: u32) -> usize {
    source as usize / CELLS
}

impl Page {
    /// The next page of a completion queue.
    pub fn new(queue: &Arc<Cq>, progress: &Arc<Progress>) -> Self {
        Self {
            polled: std::array::from_fn(|_| AtomicU32::new(0)),
            dropped: std::array::from_fn(|_| AtomicU32::new(0)),
            progress: Arc::clone(progress),
            queue: Arc::downgrade(queue),
        }
    }

    /// An operation was polled. Only the poller calls this.
    #[inline(always)]
    pub fn release(&self, source: u32) {
        let polled = &self.polled[source as usize % CELLS];
        // Release: what the poller read comes before the next use of the room.
        polled.store(polled.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// An operation ended whose completion will not be polled.
    pub fn drop_one(&self, source: u32) {
        self.dropped[source as usize % CELLS].fetch_add(1, Ordering::Release);
    }

    fn released(&self, source: u32) -> u32 {
        let cell = source as usize % CELLS;
        let dropped = self.dropped[cell].load(Ordering::Acquire);
        self.polled[cell].load(Ordering::Acquire).wrapping_add(dropped)
    }
}

/// The place of a work queue among those that a completion queue knows. The end of it gives the
/// place to another, once all that it completed was taken; to be dropped without locks.
pub struct Attachment {
    page: Arc<Page>,
    source: u32,
}

impl Attachment {
    /// The place of that number, which is free.
    pub fn new(page: &Arc<Page>, source: u32) -> Self {
        Self { page: Arc::clone(page), source }
    }

    /// What the completion queue knows it by.
    pub fn index(&self) -> u32 {
        self.source
    }

    fn released(&self) -> u32 {
        self.page.released(self.source)
    }

    /// Whether everything up to that position was taken.
    fn is_over(&self, position: u64) -> bool {
        self.page.progress.taken() >= position
    }

    fn is_at(&self, queue: &Arc<Cq>) -> bool {
        std::ptr::eq(Weak::as_ptr(&self.page.queue), Arc::as_ptr(queue))
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Some(queue) = self.page.queue.upgrade() {
            queue.detach(self.source);
        }
    }
}

/// The room of a work queue: operations posted and not yet polled. The lock of the queue
/// guards it. In the order of its use.
#[repr(C)]
pub struct QueueCredits {
    /// How many were posted, ever, modulo 2^32.
    posted: u32,
    /// Up to which there is room; more may have been released since.
    limit: u32,
    max: u32,
    /// What left by attachments that are gone, less what others had counted there before.
    before: u32,
    /// The attachment that operations leave by; absent where there are several.
    now: Option<Attachment>,
    /// Others that operations leave by, or left by before: mostly none.
    others: Option<Box<Others>>,
}

#[derive(Default)]
struct Others(Vec<Other>);

impl Others {
    fn released(&self) -> u32 {
        self.0.iter().map(|other| other.attachment.released()).fold(0, u32::wrapping_add)
    }
}

struct Other {
    attachment: Attachment,
    /// Cq pairs whose operations leave by it.
    users: u32,
    /// Without users, the position up to which their completions are.
    end: u64,
}

impl QueueCredits {
    /// The room of a work queue for at most `max` operations.
    pub fn new(max: u32) -> Self {
        Self { posted: 0, limit: max, max, before: 0, now: None, others: None }
    }

    /// Has operations leave by an attachment from now on. Those that left by the one before have
    /// completions up to that position of its queue. Gives back what is not needed any more.
    #[must_use]
    pub fn attach(&mut self, attachment: Attachment, end: u64) -> Vec<Attachment> {
        self.before = self.before.wrapping_sub(attachment.released());
        if let Some(attachment) = self.now.replace(attachment) {
            self.others.get_or_insert_default().0.push(Other { attachment, users: 0, end });
        }
        self.retire_drained()
    }

    /// Has operations of one more queue pair leave by a queue; what that knows them by.
    pub fn attach_shared(&mut self, queue: &Arc<Cq>) -> u32 {
        let others = &mut self.others.get_or_insert_default().0;
        let known =
            others.iter_mut().find(|other| other.users > 0 && other.attachment.is_at(queue));
        if let Some(known) = known {
            known.users += 1;
            return known.attachment.source;
        }
        let attachment = queue.attach();
        let source = attachment.source;
        self.before = self.before.wrapping_sub(attachment.released());
        others.push(Other { attachment, users: 1, end: 0 });
        source
    }

    /// The end of [`attach_shared`](Self::attach_shared). Gives back what is not needed any more.
    #[must_use]
    pub fn detach_shared(&mut self, queue: &Arc<Cq>) -> Vec<Attachment> {
        let others = self.others.iter_mut().flat_map(|others| &mut others.0);
        for other in others.filter(|other| other.users > 0 && other.attachment.is_at(queue)) {
            other.users -= 1;
            other.end = queue.tail();
        }
        self.retire_drained()
    }

    /// Adds up what is over.
    fn retire_drained(&mut self) -> Vec<Attachment> {
        let Some(others) = &mut self.others else { return Vec::new() };
        let is_over = |other: &Other| other.users == 0 && other.attachment.is_over(other.end);
        let (over, rest) = others.0.drain(..).partition::<Vec<_>, _>(is_over);
        for other in &over {
            self.before = self.before.wrapping_add(other.attachment.released());
        }
        if rest.is_empty() {
            // QueueCredits is found without a long look again.
            self.others = None;
        } else {
            others.0 = rest;
        }
        over.into_iter().map(|other| other.attachment).collect()
    }

    fn released(&self) -> u32 {
        let now = self.now.as_ref().map_or(0, Attachment::released);
        let others = self.others.as_ref().map_or(0, |others| others.released());
        self.before.wrapping_add(now).wrapping_add(others)
    }

    /// Operations that are posted and not yet polled.
    pub fn in_use(&self) -> u32 {
        self.posted.wrapping_sub(self.released())
    }

    /// The most operations.
    pub fn capacity(&self) -> u32 {
        self.max
    }

    /// Changes the size, which is at least the number in use.
    pub fn resize(&mut self, max: u32) {
        self.max = max;
        self.limit = self.posted;
    }

    /// Takes a credit, if there is one.
    #[inline]
    pub fn try_take(&mut self) -> bool {
        let is_there = self.is_available();
        if is_there {
            self.take_available();
        }
        is_there
    }

    /// Whether there is a credit.
    #[inline(always)]
    pub fn is_available(&mut self) -> bool {
        self.is_available_fast() || self.find()
    }

    /// Whether there is a credit without counting again: a poster that keeps its queue full gets one
    /// each time.
    #[inline(always)]
    pub fn is_available_fast(&mut self) -> bool {
        if self.posted == self.limit {
            if let (Some(now), None) = (&self.now, &self.others) {
                self.limit = self.limit_at(self.before.wrapping_add(now.released()));
            }
        }
        self.posted != self.limit
    }

    /// The limit after a total of `released` operations.
    #[inline(always)]
    fn limit_at(&self, released: u32) -> u32 {
        let used = self.posted.wrapping_sub(released);
        self.posted.wrapping_add(self.max.saturating_sub(used))
    }

    /// Takes room that was seen.
    #[inline(always)]
    pub fn take_available(&mut self) {
        self.posted = self.posted.wrapping_add(1);
    }

    #[cold]
    #[inline(never)]
    fn find(&mut self) -> bool {
        self.limit = self.limit_at(self.released());
        self.posted != self.limit
    }

    /// Gives back the room of the last `take`, whose operation is over or was never posted.
    #[inline]
    pub fn give_back(&mut self) {
        self.posted = self.posted.wrapping_sub(1);
    }
}
