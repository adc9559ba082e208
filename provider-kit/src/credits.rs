//! Credits of work queues, from post to poll.
//!
//! A completion queue counts the returned credits of its work queues. The counters of many work queues are adjacent, so
//! that polling their completions touches few cache lines.

use std::sync::{Arc, Weak};

use dat_sync::CacheLineAligned;

use crate::completion_queue::Cq;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The number of completions that the poller of a completion queue has taken, on a cache line that
/// producers do not write.
#[derive(Default)]
pub struct PollCount(AtomicU64, CacheLineAligned);

impl PollCount {
    /// Returns the count. The caller sees all stores of the poller before it published the count.
    pub fn taken(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Publishes the count, after the slots were read and their credits were returned.
    #[inline(always)]
    pub(crate) fn set(&self, taken: u64) {
        // Release: pairs with the Acquire in `taken`.
        self.0.store(taken, Ordering::Release);
    }
}

/// Number of work queues whose counters share a page.
pub const QUEUES_PER_PAGE: usize = if cfg!(all(test, loom)) { 1 } else { 32 };

/// Counters of ended operations of several work queues, modulo 2^32.
#[repr(C)]
pub struct CreditPage {
    _aligned: CacheLineAligned,
    /// Operations whose completions were polled. Only the poller writes these.
    polled: [AtomicU32; QUEUES_PER_PAGE],
    /// Operations whose completions are never polled.
    dropped: [AtomicU32; QUEUES_PER_PAGE],
    poll_count: Arc<PollCount>,
    queue: Weak<Cq>,
}

/// The page of a work queue, by its index.
#[inline(always)]
pub fn page_of(index: u32) -> usize {
    index as usize / QUEUES_PER_PAGE
}

impl CreditPage {
    /// A new page of a completion queue.
    pub fn new(queue: &Arc<Cq>, poll_count: &Arc<PollCount>) -> Self {
        Self {
            _aligned: CacheLineAligned,
            polled: std::array::from_fn(|_| AtomicU32::new(0)),
            dropped: std::array::from_fn(|_| AtomicU32::new(0)),
            poll_count: Arc::clone(poll_count),
            queue: Arc::downgrade(queue),
        }
    }

    /// The completion of an operation was polled. Only the poller calls this.
    #[inline(always)]
    pub fn release(&self, index: u32) {
        let polled = &self.polled[index as usize % QUEUES_PER_PAGE];
        // Release: the poller has read the completion before the credit is used again.
        polled.store(polled.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// An operation has ended whose completion will never be polled.
    pub fn drop_one(&self, index: u32) {
        // Release: pairs with `released`.
        self.dropped[index as usize % QUEUES_PER_PAGE].fetch_add(1, Ordering::Release);
    }

    fn released(&self, index: u32) -> u32 {
        let cell = index as usize % QUEUES_PER_PAGE;
        // Pairs with `release` and `drop_one`.
        let dropped = self.dropped[cell].load(Ordering::Acquire);
        self.polled[cell].load(Ordering::Acquire).wrapping_add(dropped)
    }
}

/// The attachment of a work queue to a completion queue. After it is dropped, its index is reused once all completions
/// of the work queue are polled. Drop it without holding locks.
pub struct Attachment {
    page: Arc<CreditPage>,
    index: u32,
}

impl Attachment {
    /// Takes a free index on a page.
    pub fn new(page: &Arc<CreditPage>, index: u32) -> Self {
        Self { page: Arc::clone(page), index }
    }

    /// The index of the work queue in the completion queue.
    pub fn index(&self) -> u32 {
        self.index
    }

    fn released(&self) -> u32 {
        self.page.released(self.index)
    }

    /// Returns true if all completions before a position are polled.
    fn is_drained(&self, position: u64) -> bool {
        self.page.poll_count.taken() >= position
    }

    fn is_at(&self, queue: &Arc<Cq>) -> bool {
        std::ptr::eq(Weak::as_ptr(&self.page.queue), Arc::as_ptr(queue))
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Some(queue) = self.page.queue.upgrade() {
            queue.detach(self.index);
        }
    }
}

/// The credits of a work queue: one for each operation that may be posted and not yet polled. The lock of the work
/// queue guards them. Fields are in the order of their use.
#[repr(C)]
pub struct QueueCredits {
    /// Number of operations that were posted, modulo 2^32.
    posted: u32,
    /// Value of `posted` up to which there are credits; more may have been returned since.
    limit: u32,
    capacity: u32,
    /// Credits returned through dropped attachments, minus those that the current ones had counted before they were
    /// attached.
    base: u32,
    /// The current attachment; `None` for a shared receive queue, which has several.
    current: Option<Attachment>,
    /// The attachments of a shared receive queue, and previous ones with unpolled completions; usually `None`.
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
    /// Number of queue pairs that complete through it.
    users: u32,
    /// Position after the last completion of the users, once there are none.
    end: u64,
}

impl QueueCredits {
    /// Credits for at most `capacity` operations.
    pub fn new(capacity: u32) -> Self {
        Self { posted: 0, limit: capacity, capacity, base: 0, current: None, others: None }
    }

    /// Makes operations complete through another attachment from now on. The completions of the previous one are before
    /// position `end` of its queue. Returns the attachments that are no longer needed.
    #[must_use]
    pub fn attach(&mut self, attachment: Attachment, end: u64) -> Vec<Attachment> {
        self.base = self.base.wrapping_sub(attachment.released());
        if let Some(attachment) = self.current.replace(attachment) {
            self.others.get_or_insert_default().0.push(Other { attachment, users: 0, end });
        }
        self.retire_drained()
    }

    /// Makes the operations of one more queue pair complete through a completion queue. Returns the index of the
    /// attachment.
    pub fn attach_shared(&mut self, queue: &Arc<Cq>) -> u32 {
        let others = &mut self.others.get_or_insert_default().0;
        let known =
            others.iter_mut().find(|other| other.users > 0 && other.attachment.is_at(queue));
        if let Some(known) = known {
            known.users += 1;
            return known.attachment.index;
        }
        let attachment = queue.attach();
        let index = attachment.index;
        self.base = self.base.wrapping_sub(attachment.released());
        others.push(Other { attachment, users: 1, end: 0 });
        index
    }

    /// Reverts [`attach_shared`](Self::attach_shared). Returns the attachments that are no longer needed.
    #[must_use]
    pub fn detach_shared(&mut self, queue: &Arc<Cq>) -> Vec<Attachment> {
        let others = self.others.iter_mut().flat_map(|others| &mut others.0);
        for other in others.filter(|other| other.users > 0 && other.attachment.is_at(queue)) {
            other.users -= 1;
            other.end = queue.tail();
        }
        self.retire_drained()
    }

    /// Folds the attachments whose completions are all polled into `base`, and returns them.
    fn retire_drained(&mut self) -> Vec<Attachment> {
        let Some(others) = &mut self.others else { return Vec::new() };
        let is_drained = |other: &Other| other.users == 0 && other.attachment.is_drained(other.end);
        let (drained, rest) = others.0.drain(..).partition::<Vec<_>, _>(is_drained);
        for other in &drained {
            self.base = self.base.wrapping_add(other.attachment.released());
        }
        if rest.is_empty() {
            // The fast path is possible again.
            self.others = None;
        } else {
            others.0 = rest;
        }
        drained.into_iter().map(|other| other.attachment).collect()
    }

    fn released(&self) -> u32 {
        let current = self.current.as_ref().map_or(0, Attachment::released);
        let others = self.others.as_ref().map_or(0, |others| others.released());
        self.base.wrapping_add(current).wrapping_add(others)
    }

    /// Returns true if at most half of the credits are used.
    pub fn is_half_free(&self) -> bool {
        self.in_use() <= self.capacity / 2
    }

    /// Number of operations that are posted and not yet polled.
    pub fn in_use(&self) -> u32 {
        self.posted.wrapping_sub(self.released())
    }

    /// Number of operations that were posted, modulo 2^32.
    pub fn posted(&self) -> u32 {
        self.posted
    }

    /// Maximum number of operations.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Changes the capacity, which must be at least the number in use.
    pub fn resize(&mut self, capacity: u32) {
        self.capacity = capacity;
        self.limit = self.posted;
    }

    /// Takes a credit, if there is one.
    #[inline]
    pub fn try_take(&mut self) -> bool {
        let is_available = self.is_available();
        if is_available {
            self.take_available();
        }
        is_available
    }

    /// Returns true if there is a credit.
    #[inline(always)]
    pub fn is_available(&mut self) -> bool {
        self.is_available_fast() || self.recount()
    }

    /// The fast path of [`is_available`](Self::is_available): it counts only the credits returned to the current
    /// attachment, and only when none is left from the last count.
    #[inline(always)]
    pub fn is_available_fast(&mut self) -> bool {
        if self.posted == self.limit {
            if let (Some(current), None) = (&self.current, &self.others) {
                self.limit = self.limit_at(self.base.wrapping_add(current.released()));
            }
        }
        self.posted != self.limit
    }

    /// Returns the limit after `released` credits were returned in total.
    #[inline(always)]
    fn limit_at(&self, released: u32) -> u32 {
        let used = self.posted.wrapping_sub(released);
        self.posted.wrapping_add(self.capacity.saturating_sub(used))
    }

    /// Takes a credit whose availability [`is_available`](Self::is_available) has reported.
    #[inline(always)]
    pub fn take_available(&mut self) {
        self.posted = self.posted.wrapping_add(1);
    }

    #[cold]
    #[inline(never)]
    fn recount(&mut self) -> bool {
        self.limit = self.limit_at(self.released());
        self.posted != self.limit
    }

    /// Returns the last credit taken, whose operation has ended without a completion or was never posted.
    #[inline]
    pub fn give_back(&mut self) {
        self.posted = self.posted.wrapping_sub(1);
    }
}
