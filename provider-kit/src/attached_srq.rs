//! The attachment of a queue pair to a shared receive queue.

use std::sync::Arc;

use dat_provider::Segment;

use crate::completion_queue::Cq;
use crate::completion_target::CompletionTarget;
use crate::receive_ring::PostedReceive;
use crate::shared_receive::{Resume, Srq};
use crate::upcalls::Upcalls;

/// The shared receive queue that a queue pair uses. Drop it without holding locks.
pub struct AttachedSrq {
    queue: Arc<Srq>,
    /// Where its receives complete for this queue pair.
    cq: Arc<Cq>,
    /// The index of these receives in the completion queue.
    work_queue: u32,
    /// True if the queue will resume this queue pair when a buffer is posted.
    is_stalled: bool,
    user: Arc<dyn Resume>,
}

impl AttachedSrq {
    /// Attaches a queue pair whose receives complete through a completion queue.
    pub fn new(queue: Arc<Srq>, cq: Arc<Cq>, user: Arc<dyn Resume>) -> Self {
        let work_queue = queue.attach(&cq);
        Self { queue, cq, work_queue, is_stalled: false, user }
    }

    /// The target of the receives of this queue pair.
    pub fn target(&self, tag: u64) -> CompletionTarget {
        CompletionTarget::new(tag, Arc::clone(&self.cq), self.work_queue)
    }

    /// Id of the protection domain of the buffers.
    pub fn domain(&self) -> u32 {
        self.queue.domain.id
    }

    /// Maximum number of segments of a buffer.
    pub fn max_segments(&self) -> usize {
        self.queue.max_segments as usize
    }

    /// Returns true if a buffer is available. If not, the queue pair is resumed when one is posted.
    pub fn has_buffer(&mut self) -> bool {
        self.queue.has_buffer(&mut self.is_stalled, &self.user)
    }

    /// Takes the oldest buffer, copies its segments to `into`, and returns their number. If there is no
    /// buffer, the queue pair is resumed when one is posted.
    pub fn take(
        &mut self,
        into: &mut [Segment],
        upcalls: &mut Upcalls,
    ) -> Option<(PostedReceive, usize)> {
        self.queue.take(into, &mut self.is_stalled, &self.user, upcalls)
    }

    /// Records that the queue has resumed the queue pair.
    pub fn set_resumed(&mut self) {
        self.is_stalled = false;
    }
}

impl Drop for AttachedSrq {
    fn drop(&mut self) {
        self.queue.detach(&self.cq);
    }
}
