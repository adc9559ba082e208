//! The places of work queues on their completion queue.

use std::sync::Arc;

use super::Queue;
use super::routes::Identifier;

/// The place of a work queue on its completion queue; given back when dropped.
pub(crate) struct Attachment {
    pub(crate) queue: Arc<Queue>,
    pub(super) index: u16,
    /// The identifier of number 0.
    pub(super) place: u64,
    pub(super) room: u32,
}

impl Attachment {
    /// The identifier under which a post of that number completes.
    #[inline(always)]
    pub(crate) fn identifier(&self, number: u32) -> u64 {
        Identifier::numbered(self.place, number)
    }

    /// Lets completions of buffers from a shared queue find this work queue by the number of
    /// its queue pair, which it had before.
    pub(crate) fn renumber(&self, before: Option<u32>, now: Option<u32>) {
        let mut inner = self.queue.inner.lock();
        if let Some(before) = before {
            if inner.routes.by_number.get(&before) == Some(&self.index) {
                inner.routes.by_number.remove(&before);
            }
        }
        if let Some(now) = now {
            inner.routes.by_number.insert(now, self.index);
        }
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let mut inner = self.queue.inner.lock();
        inner.needed = inner.needed.saturating_sub(self.room);
        let before = inner.routes.remove(self.index);
        drop(inner);
        drop(before);
    }
}
