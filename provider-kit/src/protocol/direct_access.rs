//! Requests that are executed by direct access to the memory of the peer.

use std::ops::{Range, RangeInclusive};

use arrayvec::ArrayVec;
use dat_provider::mem::Span;
use dat_provider::status::DtoStatus;
use dat_provider::{Request, Work};

use super::request::{PostedRequest, Task};
use super::state::Protocol;
use super::transmit::Transmit;
use crate::direct::{Access, AccessResult, Direction};
use crate::frame::Remote;
use crate::transfer::{self, LocalMemory};
use crate::upcalls::Upcalls;
use crate::work_queues::{InFlight, WorkQueues};

/// Maximum number of requests that the link executes in one call.
const MOST_AT_ONCE: usize = 8;
/// Minimum and maximum length of a write that a post leaves to the next poll, in bytes. A shorter one is seldom a part of a
/// long message, and its target may wait for it; a longer one takes much longer than the system call itself.
const LEFT_WRITES: RangeInclusive<u64> = (1 << 10)..=(16 << 10);
/// Maximum length of all such writes, so that the target finds the first ones while the others are copied.
const MAX_LEFT: u64 = 64 << 10;

impl Protocol {
    /// Executes the oldest requests, if all before them are complete and the link can do it without the peer. Returns
    /// whether one ended.
    ///
    /// A request that would pass an earlier one is written to the link instead: the peer executes the
    /// requests in the link in order.
    #[inline(never)]
    pub(super) fn access_directly(&mut self, out: &mut impl Transmit, queues: &WorkQueues) -> bool {
        let sends = &mut self.outbound.sends;
        if sends.has_in_flight() || out.is_closed() {
            return false;
        }
        self.spans.clear();
        let spans = &mut self.spans;
        let planned = sends.waiting.iter().map_while(|request| plan(request, queues, spans));
        let planned: ArrayVec<_, MOST_AT_ONCE> = planned.take(MOST_AT_ONCE).collect();
        let accesses = planned
            .into_iter()
            .map(|(access, parts)| Access { local: &self.spans[parts], ..access });
        let accesses: ArrayVec<_, MOST_AT_ONCE> = accesses.collect();
        if accesses.is_empty() {
            return false;
        }
        let done = out.writer().access_all(&accesses);
        for request in sends.waiting.iter_mut().take(done) {
            request.local_status = Some(DtoStatus::Success);
        }
        done > 0
    }

    /// Returns true if posts have left requests to the next call that makes progress.
    #[inline]
    pub(crate) const fn is_leaving(&self) -> bool {
        self.outbound.left_bytes > 0
    }

    /// Returns true if a post may leave a request to polls.
    #[inline]
    pub(crate) fn may_leave(request: &Request<'_>) -> bool {
        matches!(request.work, Work::RdmaWrite { .. }) && LEFT_WRITES.contains(&request.length)
    }

    /// Leaves a request that is being posted to the next call that makes progress. Only such requests wait, and none is in
    /// flight. Returns false, without effect, if those that wait take long enough.
    #[inline(never)]
    pub(crate) fn leave_access(&mut self, request: &Request<'_>, queues: &mut WorkQueues) -> bool {
        let waiting = &mut self.outbound.sends.waiting;
        let bytes = self.outbound.left_bytes.saturating_add(request.length);
        let may_wait =
            bytes <= MAX_LEFT && waiting.len() < MOST_AT_ONCE && waiting.try_reserve(1).is_ok();
        if may_wait {
            queues.credits.take_available();
            waiting.push_back(PostedRequest::new(request));
            (self.outbound.left_bytes, self.writes_at_once) = (bytes, false);
        }
        may_wait
    }

    /// As [`access_directly`](Self::access_directly), for a request that is being posted: nothing waits
    /// or is in flight. Completes it, if the link can execute it. Nothing if the slow path has to try.
    #[inline(never)]
    pub(crate) fn access_at_once(
        request: &Request<'_>,
        out: &mut impl Transmit,
        queues: &mut WorkQueues,
        upcalls: &mut Upcalls,
    ) -> Option<AccessResult> {
        let &Request { work, segments, length, cookie, flags, checked } = request;
        let (direction, remote, transferred) = rdma(&work, length)?;
        if transferred != length {
            return None;
        }
        let local = LocalMemory { segments, domain: queues.domain };
        let checked = (checked.number(), &*queues.receives.epochs);
        let span =
            transfer::checked_local_span(local, checked, direction.local_privilege(), length)?;
        let accessed = out.writer().access(&Access { direction, remote, length, local: &[span] });
        if let AccessResult::Done = accessed {
            queues.credits.take_available();
            let (length, operation) = (length as u32, work.operation());
            let request = InFlight { cookie, length, operation, flags, expects_answer: false };
            queues.complete_request(&request, 0, DtoStatus::Success, upcalls);
        }
        Some(accessed)
    }
}

/// The access that executes a request, and the range of its local memory, which is appended to `spans`. Nothing if the
/// request has begun or ended, or is another one, or its memory is invalid.
fn plan(
    request: &PostedRequest,
    queues: &WorkQueues,
    spans: &mut Vec<Span>,
) -> Option<(Access<'static>, Range<usize>)> {
    if request.is_begun || request.local_status.is_some() {
        return None;
    }
    let Task::Work(work) = &request.task else { return None };
    let (direction, remote, length) = rdma(work, request.length)?;
    let local = LocalMemory { segments: &request.segments, domain: queues.domain };
    let (start, privilege) = (spans.len(), direction.local_privilege());
    let is_checked = length > 0 && transfer::local_spans(local, privilege, (0, length), spans);
    is_checked.then_some((Access { direction, remote, length, local: &[] }, start..spans.len()))
}

/// The direction, the remote memory and the length of an RDMA write or read, whose local memory has
/// `local_length` bytes. Nothing for other requests.
fn rdma(work: &Work, local_length: u64) -> Option<(Direction, Remote, u64)> {
    let (direction, remote, length) = match work {
        Work::RdmaWrite { remote } => (Direction::Write, remote, local_length),
        Work::RdmaRead { remote } => (Direction::Read, remote, remote.length),
        _ => return None,
    };
    Some((direction, Remote { context: remote.context, address: remote.address }, length))
}
