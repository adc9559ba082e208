//! The poster's side of a work queue.

use std::sync::Arc;

use dat_provider::flags::CompletionFlags;
use dat_provider::status::Operation;

use super::WorkQueue;
use super::slots::{Record, Slots, Traits};

/// The poster's side of a work queue, which the poster's lock protects. No other thread reads what
/// a post writes here.
#[repr(C)]
pub(crate) struct Posts {
    /// The sequence number of the next post; sequence numbers wrap around.
    next: u32,
    /// The sequence number before which posts of the consumer need not check for a free slot and a
    /// queue credit; never before `next`.
    until: u32,
    slots: Slots,
    /// Maximum number of outstanding posts of the consumer.
    max: u32,
    /// True if posts may take the fast path.
    pub(super) is_open: bool,
    pub(crate) work_queue: Arc<WorkQueue>,
}

/// The sequence number of the next post, for which a slot and a queue credit are free.
pub(crate) struct Next(u32);

impl Posts {
    /// The poster's side of a new work queue, for `max` posts of the consumer. It is closed.
    pub(super) fn new(slots: Slots, max: u32, work_queue: Arc<WorkQueue>) -> Self {
        Self { next: 0, until: 0, slots, max, is_open: false, work_queue }
    }

    /// The sequence number of the next post.
    pub(crate) fn next_number(&self) -> u32 {
        self.next
    }

    /// Lets posts take the fast path, or keeps them off it: [`next`](Self::next) then returns
    /// nothing.
    pub(crate) fn set_open(&mut self, is_open: bool) {
        self.is_open = is_open;
        self.until = self.next;
    }

    /// The number of the next post on the fast path; `None` if [`reopen`](Self::reopen) must be called
    /// first.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<Next> {
        (self.next != self.until).then_some(Next(self.next))
    }

    /// Counts the posts that may take the fast path; returns whether there are any.
    #[inline(never)]
    pub(crate) fn reopen(&mut self) -> bool {
        self.is_open && self.count_free()
    }

    /// Records a post with the number that [`next`](Self::next) returned, and returns the number. A
    /// receive needs no length: the length of the message is in its completion.
    #[inline(always)]
    pub(crate) fn write_at(
        &mut self,
        Next(number): Next,
        operation: Operation,
        cookie: u64,
        length: Option<u32>,
        flags: CompletionFlags,
    ) -> u32 {
        self.slots.fill(number, cookie, length, Traits::new(operation, flags));
        self.next = number.wrapping_add(1);
        number
    }

    /// Records any post and returns its sequence number; `None` if no free slot or queue credit is
    /// visible, which may change when completions are collected. An internal post takes no credit.
    pub(crate) fn write(&mut self, record: &Record) -> Option<u32> {
        let number = self.next;
        if record.internal {
            if self.outstanding() >= self.slots.count() {
                return None;
            }
            self.work_queue.internal_posted();
            // It may take a slot that was counted.
            self.until = number.wrapping_add(1);
        } else if number == self.until && !self.count_free() {
            return None;
        }
        self.slots.fill_with(number, record);
        self.next = number.wrapping_add(1);
        if !self.is_open {
            self.until = self.next;
        }
        Some(number)
    }

    /// Removes the last post, which the device refused.
    #[cold]
    pub(crate) fn unwrite(&mut self) {
        self.next = self.next.wrapping_sub(1);
        self.until = self.next;
        if self.slots.take(self.next).is_some_and(|last| last.internal) {
            self.work_queue.internal_removed();
        }
    }

    /// Counts the posts of the consumer that have a free slot and a queue credit, and sets `until`
    /// after them; returns whether there are any. Completions only add to their number.
    fn count_free(&mut self) -> bool {
        let outstanding = self.outstanding();
        let used = outstanding.wrapping_add(self.work_queue.unpolled());
        let slots = self.slots.count().saturating_sub(outstanding);
        let free = self.max.saturating_sub(used).min(slots);
        self.until = self.next.wrapping_add(free);
        free > 0
    }

    /// Number of posts that have not completed.
    fn outstanding(&self) -> u32 {
        self.next.wrapping_sub(self.work_queue.head())
    }
}
