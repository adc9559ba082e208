//! The receives of a queue pair: its own, or those of a shared queue.

use std::sync::Arc;

use dat_provider::status::{DtoStatus, Operation};
use dat_provider::{Completion, CompletionFeatures, Epochs, Segment};
use dat_provider_kit::attached_srq::AttachedSrq;
use dat_provider_kit::completion_target::CompletionTarget;
use dat_provider_kit::receive_ring::{PostedReceive, ReceiveRing};
use dat_provider_kit::receive_wakeup::ReceiveWakeup;
use dat_provider_kit::upcalls::Upcalls;

/// Posted receives, and where they complete. Fields are in the order of their use.
#[repr(C)]
pub(super) struct ReceiveQueue {
    /// The position of the next receive to take.
    pub(super) head: u64,
    /// Id of the protection domain of the queue pair.
    pub(super) domain: u32,
    /// The number of the queue pair.
    pub(super) qp_number: u32,
    /// The ring into which the poster puts receives; unallocated before the first.
    pub(super) ring: ReceiveRing,
    pub(super) target: CompletionTarget,
    pub(super) epochs: Arc<Epochs>,
    /// Bytes that were written to memory of this side, by messages and RDMA.
    pub(super) bytes_in: u64,
    /// Bytes that the peer has read from memory of this side.
    pub(super) bytes_out: u64,
    /// Buffer for the segments of the current receive.
    pub(super) segments: Vec<Segment>,
    pub(super) shared: Option<Box<AttachedSrq>>,
}

/// The data in the completion of a receive about the request that consumed it.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub(super) operation: Operation,
    pub(super) extra: u64,
    pub(super) solicited: bool,
}

impl Arrival {
    /// No request consumed it.
    pub(super) const NONE: Self =
        Self { operation: Operation::Receive, extra: 0, solicited: false };
}

impl ReceiveQueue {
    /// Returns true if there is a receive. If not, a shared queue resumes this queue pair later.
    #[inline]
    pub(super) fn has_receive(&mut self) -> bool {
        match &mut self.shared {
            None => self.ring.is_filled(self.head),
            Some(shared) => shared.has_buffer(),
        }
    }

    /// Requests that the poster of the next receive executes the waiting requests. Returns whether a
    /// receive arrived meanwhile. A shared queue needs no request: it resumes this queue pair anyway.
    #[cold]
    pub(super) fn request_wakeup(&self, wakeup: &ReceiveWakeup) -> bool {
        if self.shared.is_some() {
            return false;
        }
        wakeup.request();
        let is_filled = self.ring.is_filled(self.head);
        if is_filled {
            wakeup.settle();
        }
        is_filled
    }

    /// Takes the next receive. The segments of a shared one, whose number is returned, are copied to
    /// the buffer.
    #[inline]
    pub(super) fn take(&mut self, upcalls: &mut Upcalls) -> Option<(PostedReceive, usize)> {
        match &mut self.shared {
            None => self.take_own().map(|posted| (posted, 0)),
            Some(shared) => {
                self.segments.resize(shared.max_segments(), Segment::default());
                shared.take(&mut self.segments, upcalls)
            }
        }
    }

    fn take_own(&mut self) -> Option<PostedReceive> {
        let (posted, ..) = self.ring.get(self.head)?;
        self.head += 1;
        Some(posted)
    }

    /// Completes a receive.
    pub(super) fn complete(
        &self,
        posted: PostedReceive,
        (length, status): (u64, DtoStatus),
        arrival: Arrival,
        upcalls: &mut Upcalls,
    ) {
        let Arrival { operation, extra, solicited } = arrival;
        let completion =
            Completion { tag: 0, cookie: posted.cookie, length, extra, operation, status };
        let failed = status != DtoStatus::Success;
        let features = CompletionFeatures { unsignalled: posted.unsignalled, solicited, failed };
        self.target.complete(completion, features, upcalls);
    }

    /// Flushes the receives that were not taken; those of a shared queue stay.
    pub(super) fn flush(&mut self, upcalls: &mut Upcalls) {
        while let Some(posted) = self.take_own() {
            self.complete(posted, (0, DtoStatus::Flushed), Arrival::NONE, upcalls);
        }
    }
}
