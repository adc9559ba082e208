//! The receives of a queue pair: its own, or those of a shared queue.

use std::sync::Arc;

use dat_provider::status::{DtoStatus, Operation};
use dat_provider::{Completion, CompletionFeatures, Segment};

use super::segments::Segments;
use crate::completion_queue::Cq;
use crate::completion_target::CompletionTarget;
use crate::credits::QueueCredits;
use crate::receive_ring::PostedReceive;
use crate::ring::Ring;
use crate::shared_receive::{Resume, Srq};
use crate::upcalls::Upcalls;

/// Receives, and where they complete.
pub(super) struct Receives {
    pub(super) ring: Ring<PostedReceive>,
    pub(super) room: QueueCredits,
    pub(super) outlet: CompletionTarget,
    pub(super) shared: Option<SharedReceives>,
    /// The domain of the queue pair's own.
    pub(super) domain: u32,
}

/// A shared queue that receives are taken from.
pub(super) struct SharedReceives {
    pub(super) queue: Arc<Srq>,
    pub(super) completions: Arc<Cq>,
    pub(super) stalled: bool,
    pub(super) me: Arc<dyn Resume>,
}

impl Drop for SharedReceives {
    fn drop(&mut self) {
        self.queue.detach(&self.completions);
    }
}

/// A receive that was taken.
pub(super) struct Taken {
    pub(super) posted: PostedReceive,
    pub(super) segments: Segments,
    /// The domain of its memory.
    pub(super) domain: u32,
}

impl Receives {
    /// Takes the next receive. If there is none, a shared queue resumes this queue pair later.
    pub(super) fn take(&mut self, upcalls: &mut Upcalls) -> Option<Taken> {
        let Some(shared) = &mut self.shared else {
            let (&posted, segments) = self.ring.front()?;
            let taken = Taken { posted, segments: segments.into(), domain: self.domain };
            self.ring.pop();
            return Some(taken);
        };
        let (mut few, mut many) = ([Segment::default(); 8], Vec::new());
        let most = shared.queue.max_segments as usize;
        let place = if most <= few.len() {
            &mut few[..]
        } else {
            many.resize(most, Segment::default());
            &mut many
        };
        let (posted, count) = shared.queue.take(place, &mut shared.stalled, &shared.me, upcalls)?;
        let segments = place.get(..count).unwrap_or_default().into();
        Some(Taken { posted, segments, domain: shared.queue.domain.id })
    }

    /// Reports a receive that ended.
    pub(super) fn finish(
        &self,
        posted: PostedReceive,
        (length, status): (u64, DtoStatus),
        (operation, extra, solicited): (Operation, u64, bool),
        upcalls: &mut Upcalls,
    ) {
        let cookie = posted.cookie;
        let failed = status != DtoStatus::Success;
        let features = CompletionFeatures { unsignalled: posted.unsignalled, solicited, failed };
        if !failed && extra == 0 {
            return self.outlet.succeed((cookie, length, operation), features, upcalls);
        }
        let completion = Completion { tag: 0, cookie, length, extra, operation, status };
        self.outlet.complete(completion, features, upcalls);
    }

    /// Reports a receive that failed or was flushed.
    pub(super) fn fail(&self, posted: PostedReceive, status: DtoStatus, upcalls: &mut Upcalls) {
        self.finish(posted, (0, status), (Operation::Receive, 0, false), upcalls);
    }

    /// Flushes all that were not taken.
    pub(super) fn flush(&mut self, upcalls: &mut Upcalls) {
        if self.shared.is_some() {
            return;
        }
        while let Some(taken) = self.take(upcalls) {
            self.fail(taken.posted, DtoStatus::Flushed, upcalls);
        }
    }
}
