//! The wait of a request for a receive of the peer, if its time is limited.
//!
//! The owner of the queue pair has the clock: the wait is reported to it when it begins, and it ends the wait. Only the
//! peer knows whether it has a receive, because it may not have reported the latest ones. The request is therefore sent
//! at the end of the time, and the peer refuses it if it has no receive. A peer that shares its receives stores short
//! messages without one: it says when it has no receive, and refuses such a message when it is withdrawn at the end of the
//! time. So both sides agree on whether a message was received.

use dat_provider::status::DtoStatus;

use super::outbound::{ReceiveWait, Rendezvous};
use super::state::Protocol;
use super::transmit::Transmit;
use crate::frame::Body;
use crate::upcalls::Upcalls;
use crate::work_queues::WorkQueues;

impl Protocol {
    /// The oldest waiting request lacks a receive of the peer. Returns whether it has to wait.
    #[cold]
    pub(super) fn must_await_receive(&mut self, queues: &WorkQueues) -> bool {
        let number = self.outbound.sends.next_sequence();
        let has_expired = self.receive_wait == ReceiveWait::Expired(number);
        if !has_expired {
            self.note_receive_wait(number, queues);
        }
        !has_expired
    }

    /// The peer, which shares its receives, has none for the oldest message.
    pub(super) fn note_no_receive(&mut self, queues: &WorkQueues) {
        let outbound = &mut self.outbound;
        let is_announced = outbound.rendezvous == Rendezvous::Announced;
        let eager = outbound.unacked_eager.front().copied();
        let number = eager.or_else(|| is_announced.then(|| outbound.sends.next_sequence()));
        let Some(number) = number else { return };
        outbound.stalled = Some(number);
        self.note_receive_wait(number, queues);
    }

    /// A request waits for a receive.
    fn note_receive_wait(&mut self, number: u32, queues: &WorkQueues) {
        let is_other =
            matches!(self.receive_wait, ReceiveWait::Begun(_) | ReceiveWait::Reported(_));
        if queues.limits_receive_wait && !is_other {
            self.receive_wait = ReceiveWait::Begun(number);
        }
    }

    /// Takes the report of a wait: whether one has begun.
    #[inline]
    pub(crate) fn take_receive_wait(&mut self) -> bool {
        let ReceiveWait::Begun(number) = self.receive_wait else { return false };
        self.receive_wait = ReceiveWait::Reported(number);
        true
    }

    /// The time of the wait that was reported is over.
    pub(crate) fn end_receive_wait(&mut self, queues: &mut WorkQueues, upcalls: &mut Upcalls) {
        let ReceiveWait::Reported(number) = self.receive_wait else { return };
        if !self.outbound.peer_uses_srq {
            self.receive_wait = ReceiveWait::Expired(number);
            return;
        }
        self.complete(queues, upcalls);
        let outbound = &mut self.outbound;
        if outbound.unacked_eager.front() == Some(&number) {
            self.receive_wait = ReceiveWait::Expired(number);
            return;
        }
        self.receive_wait = ReceiveWait::Nothing;
        let is_announced = outbound.rendezvous == Rendezvous::Announced;
        let announced = is_announced.then(|| outbound.sends.next_sequence());
        if announced == Some(number) {
            if let Some(request) = outbound.sends.waiting.front_mut() {
                request.local_status = Some(DtoStatus::ReceiverNotReady);
            }
            return;
        }
        // Another message may wait by now, whose time begins here.
        let oldest = outbound.unacked_eager.front().copied().or(announced);
        if let Some(oldest) = oldest.filter(|oldest| outbound.stalled == Some(*oldest)) {
            self.note_receive_wait(oldest, queues);
        }
    }

    /// Withdraws a message that waits no more from a peer that shares its receives.
    #[inline]
    pub(super) fn withdraw_message(&mut self, out: &mut impl Transmit) {
        let ReceiveWait::Expired(request) = self.receive_wait else { return };
        if self.outbound.peer_uses_srq && self.write(Body::Withdraw { request }, &[], out) {
            self.receive_wait = ReceiveWait::Nothing;
        }
    }
}
