//! The registrations of work queues with their completion queue.

use std::sync::Arc;

use super::Queue;
use super::identifier::{Identifier, key};

/// The registration of a work queue with its completion queue; removed on drop.
pub(crate) struct Attachment {
    pub(crate) queue: Arc<Queue>,
    pub(super) index: u16,
    /// The identifier of post number 0.
    pub(super) place: u64,
    pub(super) entries: u32,
}

impl Attachment {
    /// The identifier of the post with that sequence number, which is the upper half.
    pub(crate) const fn identifier(&self, number: u32) -> u64 {
        Identifier::numbered(self.place, number)
    }

    /// The lower half of every identifier.
    pub(crate) const fn low_half(&self) -> u32 {
        key(self.place)
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
