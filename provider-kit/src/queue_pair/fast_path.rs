//! The fast paths of posts and polls, which apply if no request waits and the link has space.

use dat_provider::flags::{CompletionFlags, Privileges};
use dat_provider::status::Operation;
use dat_provider::triplet::RmrTriplet;
use dat_provider::{Request, Segment, Work};

use super::connection::Connection;
use super::{Phase, QpState, SoftQp};
use crate::direct::AccessResult;
use crate::frame::{Body, Extra, Frame, Remote};
use crate::link::MIN_OFFER;
use crate::protocol::{Protocol, Transmit};
use crate::receive_ring::PostedReceive;
use crate::transfer::{self, LocalMemory};
use crate::upcalls::Upcalls;
use crate::work_queues::InFlight;

impl QpState {
    /// Appends a receive if the peer need not see its credit at once. Otherwise returns false, without effect.
    #[inline(always)]
    fn push_receive(&mut self, receive: PostedReceive, segments: &[Segment]) -> bool {
        let Self { conn: Some(conn), queues, .. } = self else { return false };
        let receives = &mut queues.receives;
        // A peer with credits sees the new one in our next frame. A peer without credits gets it at the next poll, if
        // every poll reads the link.
        let Connection { protocol, attention, .. } = &mut **conn;
        let has_credits = protocol.counts.peer_has_credits();
        let is_plain = protocol.writes_at_once
            && receives.shared.is_none()
            && receives.credits.is_available_fast()
            && protocol.credit_delay.may_wait(has_credits)
            && (has_credits || attention.is_read_by_every_poll());
        if !is_plain || receives.ring.push(receive, segments).is_err() {
            return false;
        }
        receives.credits.take_available();
        protocol.counts.note_posted();
        true
    }

    /// Decides whether posts may take the fast path until the next call.
    pub(super) fn update_fast_path(&mut self) {
        let is_usable = self.phase == Phase::Connected && !self.is_closing && !self.is_retired;
        if let Some(conn) = &mut self.conn {
            conn.protocol.writes_at_once =
                is_usable && conn.link.is_free() && conn.protocol.is_unobstructed();
        }
    }
}

impl SoftQp {
    /// Executes an RDMA operation by direct access, or writes a send or RDMA write to the link. Returns false, without
    /// effect, if that takes more than one frame or needs the slow path.
    #[inline]
    pub(super) fn post_request_fast(&self, request: &Request<'_>) -> bool {
        let mut guard = self.state.lock();
        let QpState { conn: Some(conn), queues, .. } = &mut *guard else { return false };
        let &Request { work, segments, length, cookie, flags, checked } = request;
        let Connection { protocol, link, attention, .. } = &mut **conn;
        let is_leaving = protocol.is_leaving();
        let is_usable = (protocol.writes_at_once || is_leaving)
            && !flags.contains(CompletionFlags::BARRIER_FENCE)
            && queues.credits.is_available_fast();
        if !is_usable {
            return false;
        }
        // The peer need not acknowledge it soon, unless this queue could become full.
        let quiet = flags.contains(CompletionFlags::SUPPRESS) && queues.credits.is_half_free();
        let may_leave = quiet && Protocol::may_leave(request);
        if is_leaving {
            return may_leave && protocol.leave_access(request, queues);
        }
        let has_in_flight = protocol.outbound.sends.has_in_flight();
        if protocol.grant.is_some() && !matches!(work, Work::Send) && !has_in_flight {
            // A single write is executed at once.
            let follows = quiet && self.core.note_post(may_leave);
            if follows
                && may_leave
                && self.core.polls_send()
                && protocol.leave_access(request, queues)
            {
                self.core.leave_to_polls(self.driven());
                return true;
            }
            let mut upcalls = Upcalls::default();
            match Protocol::access_at_once(request, link, queues, &mut upcalls) {
                Some(AccessResult::Done) => {
                    drop(guard);
                    upcalls.deliver();
                    return true;
                }
                Some(AccessResult::NotDirectly) => {}
                None => return false,
            }
        }
        if length >= MIN_OFFER && (length > protocol.max_first_piece || protocol.outbound.can_offer)
        {
            return false;
        }
        let body = match work {
            Work::Send if protocol.outbound.has_credit() => {
                let solicited = flags.contains(CompletionFlags::SOLICITED_WAIT);
                Body::Send { length, solicited, extra: Extra::None }
            }
            Work::RdmaWrite { remote } => {
                let RmrTriplet { address, context, .. } = remote;
                Body::Write { length, remote: Remote { context, address } }
            }
            _ => return false,
        };
        let local = LocalMemory { segments, domain: queues.domain };
        let checked = (checked.number(), &*queues.receives.epochs);
        let quiet = quiet && link.can_hold;
        let frame = Frame { quiet, ..protocol.frame(body) };
        if quiet && (!attention.is_lent() || self.core.is_polled()) {
            self.core.note_post(true);
            link.polls_send = self.core.polls_send();
        } else {
            link.polls_send = false;
        }
        let was_holding = link.is_holding();
        let is_written =
            match transfer::checked_local_span(local, checked, Privileges::LOCAL_READ, length) {
                Some(span) => protocol.write_frame(&frame, &[span], link),
                None => protocol.write_segments(&frame, (local, checked), length, link),
            };
        if !is_written {
            return false;
        }
        if link.is_holding() && !was_holding && link.polls_send {
            self.core.leave_to_polls(self.driven());
        }
        self.note_written(&mut guard, (cookie, length), work.operation(), flags);
        true
    }

    /// Records that the last posted request is completely written to the link.
    #[inline(always)]
    fn note_written(
        &self,
        state: &mut QpState,
        (cookie, length): (u64, u64),
        operation: Operation,
        flags: CompletionFlags,
    ) {
        let QpState { conn: Some(conn), queues, .. } = state else { return };
        queues.credits.take_available();
        let Connection { protocol, link, .. } = &mut **conn;
        protocol.credit_delay.note_request();
        if operation == Operation::Send {
            protocol.outbound.use_credit();
        }
        let length = length as u32;
        let in_flight = InFlight { cookie, length, operation, flags, expects_answer: false };
        protocol.outbound.sends.push_in_flight(in_flight);
        if !link.is_free() {
            protocol.writes_at_once = false;
            self.update_interest(state);
        }
    }

    /// As [`post_request_fast`](Self::post_request_fast), for a message of one segment, if the lock is biased to
    /// this thread and the link holds no frames. The arguments stay in registers.
    #[inline]
    pub(super) fn post_message_fast(
        &self,
        segment: Segment,
        cookie: u64,
        flags: CompletionFlags,
        checked: u64,
    ) -> bool {
        let Some(mut guard) = self.state.lock_as_owner() else { return false };
        let QpState { conn: Some(conn), queues, .. } = &mut *guard else { return false };
        let length = segment.length;
        let Connection { protocol, link, .. } = &mut **conn;
        let is_usable = protocol.writes_at_once
            && !link.can_hold
            && length < MIN_OFFER
            && !flags.contains(CompletionFlags::BARRIER_FENCE)
            && protocol.outbound.has_credit()
            && queues.credits.is_available_fast();
        if !is_usable {
            return false;
        }
        let local = LocalMemory { segments: &[segment], domain: queues.domain };
        let checked = (checked, &*queues.receives.epochs);
        let solicited = flags.contains(CompletionFlags::SOLICITED_WAIT);
        let Some(span) =
            transfer::checked_local_span(local, checked, Privileges::LOCAL_READ, length)
        else {
            return false;
        };
        if !protocol.write_message(length, solicited, span, link) {
            return false;
        }
        self.note_written(&mut guard, (cookie, length), Operation::Send, flags);
        true
    }

    /// Posts a receive if the peer need not see its credit at once. Returns false, without effect, if the slow path is
    /// needed.
    pub(super) fn post_receive_fast(&self, receive: PostedReceive, segments: &[Segment]) -> bool {
        self.state.lock().push_receive(receive, segments)
    }

    /// As [`post_receive_fast`](Self::post_receive_fast), for one segment, if the lock is biased to this thread.
    #[inline(always)]
    pub(super) fn post_one_receive_fast(&self, receive: PostedReceive, segment: Segment) -> bool {
        self.state.lock_as_owner().is_some_and(|mut state| state.push_receive(receive, &[segment]))
    }
}
