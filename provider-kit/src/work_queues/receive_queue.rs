//! The receives of a queue pair: its own, or those of a shared queue.

use std::sync::Arc;

use dat_provider::flags::Privileges;
use dat_provider::mem::Span;
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::{Completion, CompletionFeatures, Epochs, Segment};

use super::segments::Segments;
use crate::attached_srq::AttachedSrq;
use crate::completion_target::CompletionTarget;
use crate::credits::QueueCredits;
use crate::link::Destinations;
use crate::receive_ring::PostedReceive;
use crate::ring::Ring;
use crate::transfer::{self, LocalMemory};
use crate::upcalls::Upcalls;

/// Posted receives, and their destination on completion.
pub(crate) struct ReceiveQueue {
    pub(crate) ring: Ring<PostedReceive>,
    pub(crate) credits: QueueCredits,
    pub(crate) target: CompletionTarget,
    pub(crate) shared: Option<AttachedSrq>,
    /// Receives of the shared queue that messages of a lost connection have taken; the next messages take them.
    pub(crate) interrupted: Vec<TakenReceive>,
    /// The protection domain of the queue pair.
    pub(crate) domain: u32,
    /// The epochs in which the core validates segments.
    pub(crate) epochs: Arc<Epochs>,
}

/// A receive that was taken to be filled.
pub(crate) struct TakenReceive {
    pub(crate) posted: PostedReceive,
    pub(crate) segments: Segments,
    /// The protection domain of its memory.
    pub(crate) domain: u32,
}

impl ReceiveQueue {
    /// Returns true if a receive is posted. If not, a shared queue resumes this queue pair later.
    pub(crate) fn is_posted(&mut self) -> bool {
        match &mut self.shared {
            None => !self.ring.is_empty(),
            Some(shared) => !self.interrupted.is_empty() || shared.has_buffer(),
        }
    }

    /// Takes the next receive. If there is none, a shared queue resumes this queue pair later.
    pub(crate) fn take(&mut self, upcalls: &mut Upcalls) -> Option<TakenReceive> {
        let Some(shared) = &mut self.shared else {
            let (&posted, segments) = self.ring.front()?;
            let taken = TakenReceive { posted, segments: segments.into(), domain: self.domain };
            self.ring.pop();
            return Some(taken);
        };
        if let Some(taken) = self.interrupted.pop() {
            return Some(taken);
        }
        let (mut inline, mut heap) = ([Segment::default(); 8], Vec::new());
        let max = shared.max_segments();
        let space = if max <= inline.len() {
            &mut inline[..]
        } else {
            heap.resize(max, Segment::default());
            &mut heap
        };
        let (posted, count) = shared.take(space, upcalls)?;
        let segments = space.get(..count).unwrap_or_default().into();
        Some(TakenReceive { posted, segments, domain: shared.domain() })
    }

    /// Returns the oldest receive and its first `length` bytes, if they are in one segment that is still registered as
    /// when it was posted.
    #[inline(always)]
    pub(crate) fn front_span(&self, length: u64) -> Option<(PostedReceive, Span)> {
        let (posted, segments) = self.ring.front()?;
        let local = LocalMemory { segments, domain: self.domain };
        let span = transfer::checked_local_span(
            local,
            (posted.checked, &self.epochs),
            Privileges::LOCAL_WRITE,
            length,
        )?;
        Some((*posted, span))
    }

    /// Appends the spans of a byte range of the oldest receive. Returns false if its memory is no longer registered.
    pub(crate) fn front_spans(&self, range: (u64, u64), into: &mut Destinations) -> bool {
        let Some((posted, segments)) = self.ring.front() else { return false };
        let local = LocalMemory { segments, domain: self.domain };
        let checked = (posted.checked, &*self.epochs);
        transfer::checked_local_spans(local, checked, Privileges::LOCAL_WRITE, range, into)
    }

    /// Completes a receive with a message of `length` bytes.
    #[inline(always)]
    pub(crate) fn succeed(
        &self,
        posted: PostedReceive,
        length: u64,
        solicited: bool,
        upcalls: &mut Upcalls,
    ) {
        let features =
            CompletionFeatures { unsignalled: posted.unsignalled, solicited, failed: false };
        self.target.succeed((posted.cookie, length, Operation::Receive), features, upcalls);
    }

    /// Completes a receive.
    pub(crate) fn complete(
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
            return self.target.succeed((cookie, length, operation), features, upcalls);
        }
        let completion = Completion { tag: 0, cookie, length, extra, operation, status };
        self.target.complete(completion, features, upcalls);
    }

    /// Completes a receive that failed or was flushed.
    pub(crate) fn fail(&self, posted: PostedReceive, status: DtoStatus, upcalls: &mut Upcalls) {
        self.complete(posted, (0, status), (Operation::Receive, 0, false), upcalls);
    }

    /// The message that took a receive does not arrive: the next one takes it.
    pub(crate) fn put_back(&mut self, taken: TakenReceive) {
        if self.shared.is_some() {
            return self.interrupted.push(taken);
        }
        // Its place is free, because its credit is taken.
        let _ = self.ring.push_front(taken.posted, &taken.segments);
    }

    /// Flushes the receives that were not taken; those of a shared queue stay.
    pub(crate) fn flush(&mut self, upcalls: &mut Upcalls) {
        while let Some(taken) = self.interrupted.pop() {
            self.fail(taken.posted, DtoStatus::Flushed, upcalls);
        }
        if self.shared.is_some() {
            return;
        }
        while let Some(taken) = self.take(upcalls) {
            self.fail(taken.posted, DtoStatus::Flushed, upcalls);
        }
    }
}
