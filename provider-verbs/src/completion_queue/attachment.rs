//! The registrations of work queues with their completion queue.

use std::sync::Arc;

use super::Queue;
use super::identifier::Identifier;

/// The registration of a work queue with its completion queue; removed on drop.
pub(crate) struct Attachment {
    pub(crate) queue: Arc<Queue>,
    pub(super) index: u16,
    /// The identifier of post number 0.
    pub(super) place: u64,
    pub(super) entries: u32,
}

/// The identifiers with which the posts of a work queue complete.
#[derive(Clone, Copy)]
pub(crate) struct Identifiers(u64);

impl Identifiers {
    /// The identifier of the post with that sequence number.
    #[inline(always)]
    pub(crate) const fn of(self, number: u32) -> u64 {
        Identifier::numbered(self.0, number)
    }
}

impl Attachment {
    pub(crate) const fn identifiers(&self) -> Identifiers {
        Identifiers(self.place)
    }

    /// Maps the number of the queue pair to this work queue, instead of the former number, so that
    /// completions of buffers from a shared queue are routed to it.
    pub(crate) fn renumber(&self, before: Option<u32>, now: Option<u32>) {
        let mut inner = self.queue.inner.lock();
        if let Some(before) = before {
            if inner.work_queue_table.by_number.get(&before) == Some(&self.index) {
                inner.work_queue_table.by_number.remove(&before);
            }
        }
        if let Some(now) = now {
            inner.work_queue_table.by_number.insert(now, self.index);
        }
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let mut inner = self.queue.inner.lock();
        inner.needed = inner.needed.saturating_sub(self.entries);
        let before = inner.work_queue_table.remove(self.index);
        drop(inner);
        drop(before);
    }
}
