//! The posted requests of a connection, from post to completion.
//!
//! A request first waits, then is in flight from the moment at which the link has all of it. Only
//! what its completion needs is kept while it is in flight.

use std::collections::VecDeque;

use dat_provider::flags::CompletionFlags;
use dat_provider::status::DtoStatus;

use super::request::{PostedRequest, Task};
use crate::fifo::Fifo;
use crate::work_queues::{InFlight, Segments};

/// Maximum number of requests that `is_awaited` checks.
const MAX_SUPPRESSED: usize = 16;

/// The requests that are not complete. The peer executes requests in order and numbers them from 0,
/// modulo 2^32.
#[derive(Default)]
pub(crate) struct SendQueue {
    /// Requests that are not completely written to the link, the oldest first.
    pub(crate) waiting: VecDeque<PostedRequest>,
    /// Requests that are completely written, the oldest first. All are older than the waiting ones.
    in_flight: Fifo<InFlight>,
    /// Reads and atomics among the requests in flight, the oldest first.
    reads: VecDeque<ReadInFlight>,
    /// Number of reads and atomics that are not completely answered.
    pub(crate) unanswered: u32,
    /// Number of requests that completed and had a sequence number, which is the sequence number of
    /// the oldest request in flight.
    pub(super) first: u32,
    /// Number of requests that the peer has executed.
    pub(crate) executed: u32,
}

/// A read or atomic that is in flight.
pub(crate) struct ReadInFlight {
    pub(crate) task: Task,
    /// Where the answer goes.
    pub(crate) segments: Segments,
    /// Length in bytes of the answer.
    pub(crate) length: u64,
    /// Bytes of the answer that have arrived.
    pub(crate) received: u64,
    /// True if the whole answer has arrived.
    pub(crate) is_answered: bool,
    /// The status of a read that failed on this side.
    pub(crate) local_status: Option<DtoStatus>,
}

impl SendQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.in_flight.is_empty() && self.waiting.is_empty()
    }

    /// Number of requests that are not complete.
    pub(crate) fn len(&self) -> usize {
        self.in_flight.len() + self.waiting.len()
    }

    /// Returns true if requests are in flight.
    #[inline]
    pub(crate) fn has_in_flight(&self) -> bool {
        !self.in_flight.is_empty()
    }

    /// The flags of all requests.
    pub(crate) fn flags(&self) -> impl Iterator<Item = CompletionFlags> {
        let waiting = self.waiting.iter().map(|request| request.flags);
        self.in_flight.iter().map(|request| request.flags).chain(waiting)
    }

    /// Returns true if the consumer gets a completion for one of the oldest requests.
    pub(crate) fn is_awaited(&self) -> bool {
        self.flags().take(MAX_SUPPRESSED).any(|flags| !flags.contains(CompletionFlags::SUPPRESS))
    }

    /// The number of requests of which at least one frame is written, which is the sequence number of
    /// the next one.
    #[inline]
    pub(crate) fn next_sequence(&self) -> u32 {
        let is_begun = self.waiting.front().is_some_and(|request| request.is_begun);
        self.first.wrapping_add(self.in_flight.len() as u32).wrapping_add(u32::from(is_begun))
    }

    /// Notes how many requests the peer has executed. Returns false if that is impossible: the count
    /// went back, or covers requests that were not sent.
    #[inline]
    pub(crate) fn set_executed(&mut self, executed: u32) -> bool {
        let newly = executed.wrapping_sub(self.executed);
        let is_possible = newly == 0 || newly <= self.next_sequence().wrapping_sub(self.executed);
        if is_possible {
            self.executed = executed;
        }
        is_possible
    }

    /// A request is completely written to the link.
    #[inline(always)]
    pub(crate) fn push_in_flight(&mut self, request: InFlight) {
        self.in_flight.push(request);
    }

    /// The oldest waiting request is completely written to the link.
    pub(crate) fn move_to_flight(&mut self) {
        let Some(request) = self.waiting.pop_front() else { return };
        self.in_flight.push(request.in_flight());
        if let Some(length) = request.answer_length() {
            self.unanswered += 1;
            self.reads.push_back(ReadInFlight {
                task: request.task,
                segments: request.segments,
                length,
                received: 0,
                is_answered: false,
                local_status: None,
            });
        }
    }

    /// The peer will execute what is written, or drop it.
    pub(super) fn end_written(&mut self) {
        self.executed = self.first.wrapping_add(self.in_flight.len() as u32);
    }

    /// If the peer has executed the oldest waiting request, which it was offered, that request is in flight
    /// from now on. Returns whether this is so.
    pub(crate) fn settle_offer(&mut self) -> bool {
        let Some(request) = self.waiting.front() else { return false };
        let number = self.first.wrapping_add(self.in_flight.len() as u32);
        let is_fetched = request.is_offered && self.is_executed(number);
        if is_fetched {
            self.move_to_flight();
        }
        is_fetched
    }

    /// The peer has not fetched the message that it was offered. Returns false if there is none.
    pub(crate) fn withdraw_offer(&mut self) -> bool {
        match self.waiting.front_mut() {
            Some(request) => std::mem::take(&mut request.is_offered),
            None => false,
        }
    }

    /// Number of bytes of the oldest answers that have arrived.
    pub(super) fn answered_part(&self) -> u64 {
        self.reads.iter().find(|read| !read.is_answered).map_or(0, |read| read.received)
    }

    /// The read or atomic that the next answer belongs to.
    pub(crate) fn current_read(&mut self) -> Option<&mut ReadInFlight> {
        self.reads.iter_mut().find(|read| !read.is_answered)
    }

    /// Takes the oldest request in flight if the peer has executed it and answers it with no data.
    #[inline(always)]
    pub(crate) fn pop_executed(&mut self) -> Option<InFlight> {
        let oldest = self.in_flight.front()?;
        if oldest.expects_answer || !self.is_executed(self.first) {
            return None;
        }
        self.in_flight.pop();
        self.first = self.first.wrapping_add(1);
        Some(oldest)
    }

    /// Returns true if there are requests that [`pop_executed`](Self::pop_executed) does not take although they may
    /// have ended.
    #[inline(always)]
    pub(crate) fn has_others(&self) -> bool {
        !self.waiting.is_empty() || !self.reads.is_empty()
    }

    /// The next completion, if the oldest request has ended: the request, the `extra` of its completion,
    /// and its status.
    #[inline]
    pub(crate) fn pop_ended(&mut self) -> Option<(InFlight, u64, DtoStatus)> {
        let Some(oldest) = self.in_flight.front() else { return self.pop_ended_waiting() };
        let status = if oldest.expects_answer { self.read_status()? } else { DtoStatus::Success };
        if status == DtoStatus::Success && !self.is_executed(self.first) {
            return None;
        }
        self.pop_in_flight();
        Some((oldest, 0, status))
    }

    /// As [`pop_ended`](Self::pop_ended), if nothing is in flight: a request may have ended without the
    /// peer.
    fn pop_ended_waiting(&mut self) -> Option<(InFlight, u64, DtoStatus)> {
        let status = self.waiting.front()?.local_status?;
        let request = self.waiting.pop_front()?;
        Some((request.in_flight(), request.extra(), status))
    }

    /// Takes the oldest request of a connection that has ended, with the `extra` of its completion.
    pub(crate) fn pop_lost(&mut self) -> Option<(InFlight, u64)> {
        self.pop_flushed((0, None)).map(|(request, extra, _)| (request, extra))
    }

    /// Takes the oldest request for the flush of all, with the `extra` and the status of its completion.
    /// `failed` is the sequence number of the request that failed at the peer, and its status if there is one.
    pub(crate) fn pop_flushed(
        &mut self,
        (failed, status): (u32, Option<DtoStatus>),
    ) -> Option<(InFlight, u64, DtoStatus)> {
        let failure = status.filter(|_| failed == self.first);
        let Some(oldest) = self.in_flight.front() else {
            let request = self.waiting.pop_front()?;
            let failure = failure.filter(|_| request.is_begun);
            let status = failure.unwrap_or(DtoStatus::Flushed);
            self.first = self.first.wrapping_add(u32::from(request.is_begun));
            return Some((request.in_flight(), request.extra(), status));
        };
        let is_answered = !oldest.expects_answer || self.read_status() == Some(DtoStatus::Success);
        let status = match failure {
            Some(status) => status,
            None if is_answered && self.is_executed(self.first) => DtoStatus::Success,
            None => DtoStatus::Flushed,
        };
        self.pop_in_flight();
        Some((oldest, 0, status))
    }

    fn pop_in_flight(&mut self) {
        let oldest = self.in_flight.front();
        self.in_flight.pop();
        if oldest.is_some_and(|request| request.expects_answer) {
            let read = self.reads.pop_front();
            let is_unanswered = read.is_some_and(|read| !read.is_answered);
            self.unanswered = self.unanswered.saturating_sub(u32::from(is_unanswered));
        }
        self.first = self.first.wrapping_add(1);
    }

    /// How the oldest read ended, if it has.
    #[cold]
    fn read_status(&self) -> Option<DtoStatus> {
        let read = self.reads.front()?;
        read.local_status.or(read.is_answered.then_some(DtoStatus::Success))
    }

    #[inline]
    fn is_executed(&self, sequence: u32) -> bool {
        self.executed.wrapping_sub(sequence) as i32 > 0
    }
}
