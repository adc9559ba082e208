//! The requester: writes posted requests to the link, completes and flushes them.

use dat_provider::Work;
use dat_provider::flags::{CompletionFlags, Privileges};
use dat_provider::status::DtoStatus;
use dat_provider::triplet::RmrTriplet;
use dat_provider::verbs::{BreakCause, LossPolicy};

use super::outbound::{MAX_EAGER, MAX_EAGER_IN_FLIGHT, Rendezvous};
use super::request::{PostedRequest, Task};
use super::state::{EndCause, Protocol};
use super::transmit::{Transmit, Unreadable};
use crate::frame::{Body, Extra, Reason, Remote};
use crate::link::MIN_OFFER;
use crate::transfer::{self, LocalMemory};
use crate::upcalls::Upcalls;
use crate::work_queues::WorkQueues;

impl Protocol {
    /// Returns true if a request is left that could not be written yet.
    pub(crate) fn waits_for_credit(&self) -> bool {
        self.is_open() && !self.outbound.sends.waiting.is_empty()
    }

    /// Completes requests in order, as far as the peer has executed them.
    #[inline(always)]
    pub(crate) fn complete(&mut self, queues: &mut WorkQueues, upcalls: &mut Upcalls) {
        while let Some(request) = self.outbound.sends.pop_executed() {
            queues.succeed_request(&request, upcalls);
        }
        if self.outbound.sends.has_others() {
            self.complete_others(queues, upcalls);
        }
    }

    /// As [`complete`](Self::complete), also for requests with answers and those that failed or were not
    /// completely written.
    #[inline(never)]
    fn complete_others(&mut self, queues: &mut WorkQueues, upcalls: &mut Upcalls) {
        if self.outbound.sends.settle_offer() {
            self.outbound.note_fetched();
        }
        while let Some((request, extra, status)) = self.outbound.sends.pop_ended() {
            queues.complete_request(&request, extra, status, upcalls);
            if status != DtoStatus::Success {
                self.outbound.has_failed = true;
                let reason = Reason::Broken { request: 0, status: DtoStatus::Flushed };
                return self.end(EndCause::Broken, Some(reason));
            }
        }
    }

    /// Writes the next frame of the first request that is not completely written. Returns whether there
    /// was progress.
    pub(super) fn write_request(
        &mut self,
        out: &mut impl Transmit,
        queues: &mut WorkQueues,
    ) -> bool {
        // The list of accesses takes space on the stack.
        if !self.outbound.sends.waiting.is_empty() && self.access_directly(out, queues) {
            return true;
        }
        let has_in_flight = self.outbound.sends.has_in_flight();
        let Some(request) = self.outbound.sends.waiting.front_mut() else { return false };
        if request.local_status.is_some() || request.is_offered {
            return false;
        }
        if let Task::Bind(bind) = &request.task {
            if has_in_flight {
                return false;
            }
            let bound = bind.execute(queues.domain);
            // It completes without a frame.
            request.local_status =
                Some(if bound { DtoStatus::Success } else { DtoStatus::RmrFailed });
            return true;
        }
        let max_reads = || self.outbound.max_reads.min(queues.max_reads.1.max(1));
        if request.waits_for_reads(self.outbound.sends.unanswered, max_reads) {
            return false;
        }
        let is_first = !request.is_begun;
        let is_eager =
            self.outbound.peer_uses_srq && request.is_message() && request.length <= MAX_EAGER;
        if is_first && is_eager {
            if self.outbound.unacked_eager.len() >= MAX_EAGER_IN_FLIGHT {
                return false;
            }
        } else if is_first && !self.outbound.unacked_eager.is_empty() {
            // The peer may have to store those messages, and can store nothing after them.
            return false;
        } else if is_first && request.consumes_receive() {
            let length = request.length;
            if self.outbound.peer_uses_srq {
                if self.outbound.rendezvous != Rendezvous::Granted {
                    self.announce(length, out);
                    return false;
                }
            } else if !self.outbound.is_unreliable
                && !self.outbound.has_credit()
                && self.must_await_receive(queues)
            {
                return false;
            }
            if length >= MIN_OFFER && self.outbound.can_offer {
                if let Some(has_progress) = self.write_offer(out, queues) {
                    return has_progress;
                }
            }
        }
        let Some(request) = self.outbound.sends.waiting.front_mut() else { return false };
        let max = if is_first { self.max_first_piece } else { out.writer().max_next_piece() };
        let length = (request.length - request.written).min(max);
        let is_last = request.written + length == request.length;
        let local = LocalMemory { segments: &request.segments, domain: queues.domain };
        self.spans.clear();
        let range = (request.written, length);
        if !transfer::local_spans(local, Privileges::LOCAL_READ, range, &mut self.spans) {
            request.local_status = Some(DtoStatus::LocalProtection);
            return true;
        }
        let body =
            if is_first { opening(request) } else { Some(Body::More { length, last: is_last }) };
        let Some(body) = body else {
            request.local_status = Some(DtoStatus::LocalEndpoint);
            return true;
        };
        match self.write_spans(&self.frame(body), out) {
            Ok(true) => {}
            Ok(false) => return false,
            Err(Unreadable) => {
                if let Some(request) = self.outbound.sends.waiting.front_mut() {
                    request.local_status = Some(DtoStatus::LocalProtection);
                }
                return true;
            }
        }
        let sequence = self.outbound.sends.next_sequence();
        let Some(request) = self.outbound.sends.waiting.front_mut() else { return false };
        request.is_begun = true;
        request.written += length;
        let consumes_receive = request.consumes_receive();
        if is_first && is_eager {
            self.outbound.unacked_eager.push_back(sequence);
        } else if is_first && consumes_receive {
            self.outbound.note_begun();
        }
        if is_last {
            self.outbound.sends.move_to_flight();
            if self.outbound.is_unreliable {
                self.outbound.sends.end_written();
            }
        }
        true
    }

    /// Announces a message of that length, once.
    fn announce(&mut self, length: u64, out: &mut impl Transmit) {
        let is_new = self.outbound.rendezvous == Rendezvous::None;
        if is_new && self.write(Body::Rts { length }, &[], out) {
            self.outbound.rendezvous = Rendezvous::Announced;
        }
    }

    /// Ends all outstanding operations at the end of the connection: those that the peer has executed succeed, unless
    /// one before them has failed. Requests stay if the peer is lost (`may_keep`) and the policy says so. Returns whether
    /// they do.
    pub(crate) fn end_requests(
        &mut self,
        queues: &mut WorkQueues,
        upcalls: &mut Upcalls,
        may_keep: bool,
    ) -> bool {
        if !self.outbound.has_failed {
            self.complete(queues, upcalls);
        }
        let is_lost = self.has_lost_peer || self.inbound.refusal == Some(BreakCause::NoReceive);
        let keeps = may_keep
            && is_lost
            && !self.outbound.has_failed
            && !self.is_unreliable()
            && queues.losses == LossPolicy::Keep;
        if keeps {
            self.put_receives_back(queues);
        } else {
            self.flush_requests(None, queues, upcalls);
        }
        keeps
    }

    /// The receives that messages have taken stay posted.
    fn put_receives_back(&mut self, queues: &mut WorkQueues) {
        // The older one last, so that it is the first again.
        let taken = self.inbound.take_announced().into_iter().chain(self.inbound.take_arriving());
        taken.for_each(|receive| queues.receives.put_back(receive));
    }

    /// Flushes all outstanding operations. `failed` is the sequence number of the request that failed
    /// at the peer, and its status.
    pub(crate) fn flush_requests(
        &mut self,
        failed: Option<(u32, DtoStatus)>,
        queues: &mut WorkQueues,
        upcalls: &mut Upcalls,
    ) {
        let keeps_receives = queues.losses == LossPolicy::Keep;
        if keeps_receives {
            self.put_receives_back(queues);
        } else {
            let announced = self.inbound.take_announced();
            for receive in self.inbound.take_arriving().into_iter().chain(announced) {
                queues.receives.fail(receive.posted, DtoStatus::Flushed, upcalls);
            }
        }
        // The peer may have executed later requests: the head of the frame that answers a read may count them, and the
        // rest of it be lost.
        let mut has_failed = self.outbound.has_failed;
        // Without an uninitialised number, which the compiler compares before it checks that there is one.
        let failed = failed.map_or((0, None), |(number, status)| (number, Some(status)));
        while let Some((request, extra, status)) = self.outbound.sends.pop_flushed(failed) {
            let status = match status {
                _ if has_failed => DtoStatus::Flushed,
                // An unreliable connection does not report that its peer is lost.
                DtoStatus::Flushed
                    if keeps_receives && self.has_lost_peer && self.is_unreliable() =>
                {
                    DtoStatus::Success
                }
                status => status,
            };
            has_failed = status != DtoStatus::Success;
            queues.complete_request(&request, extra, status, upcalls);
        }
        self.outbound.has_failed = has_failed;
        if !keeps_receives {
            queues.receives.flush(upcalls);
        }
    }

    /// Why this side has broken the connection, if it has.
    pub(crate) fn break_cause(&self) -> Option<BreakCause> {
        let own = self.outbound.has_failed && !self.has_lost_peer;
        self.inbound.refusal.or(own.then_some(BreakCause::Request))
    }
}

/// The first frame of a request; nothing if it is not supported.
fn opening(request: &PostedRequest) -> Option<Body> {
    let Task::Work(work) = &request.task else { return None };
    let length = request.length;
    let solicited = request.flags.contains(CompletionFlags::SOLICITED_WAIT);
    let remote_of = |at: &RmrTriplet| Remote { context: at.context, address: at.address };
    Some(match work {
        Work::Send => Body::Send { length, solicited, extra: Extra::None },
        Work::SendImmediate { immediate } => {
            Body::Send { length, solicited, extra: Extra::Immediate(*immediate) }
        }
        Work::SendInvalidate { key } => {
            Body::Send { length, solicited, extra: Extra::Invalidate(*key) }
        }
        Work::RdmaWrite { remote } => Body::Write { length, remote: remote_of(remote) },
        Work::RdmaWriteImmediate { remote, immediate } => Body::WriteImmediate {
            length,
            remote: remote_of(remote),
            immediate: *immediate,
            solicited,
        },
        Work::RdmaRead { remote } | Work::RdmaReadToRmr { remote, .. } => {
            Body::Read { length: remote.length, remote: remote_of(remote) }
        }
        Work::FetchAdd { add, remote } => Body::FetchAdd { remote: remote_of(remote), add: *add },
        Work::CompareSwap { compare, swap, remote } => {
            Body::CompareSwap { remote: remote_of(remote), compare: *compare, swap: *swap }
        }
        _ => return None,
    })
}
