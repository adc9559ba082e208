//! The responder: answers to the peer, and eager messages that wait for a receive.

use dat_provider::flags::Privileges;
use dat_provider::status::DtoStatus;
use dat_provider::verbs::BreakCause;

use super::inbound::{Announced, AnswerData, PendingAnswer, Unexpected};
use super::state::{EndCause, Protocol};
use super::transmit::Transmit;
use crate::bytes;
use crate::frame::{Body, Extra, Reason};
use crate::transfer::{self, LocalMemory};
use crate::upcalls::Upcalls;
use crate::window;
use crate::work_queues::{TakenReceive, WorkQueues};

impl Protocol {
    /// Takes buffers of the shared receive queue for unexpected messages, and for a message that the
    /// peer has announced with `RTS`.
    pub(super) fn serve_srq(
        &mut self,
        out: &mut impl Transmit,
        queues: &mut WorkQueues,
        upcalls: &mut Upcalls,
    ) {
        while let Some(message) = self.inbound.unexpected.front() {
            let length = message.data.len() as u64;
            if let Extra::Invalidate(key) = message.extra {
                if !window::is_bound(key, queues.domain, queues.number) {
                    return self.inbound.refuse(BreakCause::Access);
                }
            }
            let Some(receive) = queues.receives.take(upcalls) else {
                return self.report_stall(out);
            };
            self.inbound.is_stall_reported = false;
            let Some(message) = self.inbound.unexpected.pop_front() else { return };
            if !self.store(queues, upcalls, receive, &message, length) {
                return;
            }
        }
        if matches!(self.inbound.announced, Announced::Waiting) {
            let Some(receive) = queues.receives.take(upcalls) else {
                return self.report_stall(out);
            };
            self.inbound.is_stall_reported = false;
            self.inbound.announced = Announced::Reserved(receive);
        }
        let is_reserved = matches!(self.inbound.announced, Announced::Reserved(_));
        if is_reserved && self.write(Body::Cts, &[], out) {
            if let Some(receive) = self.inbound.take_announced() {
                self.inbound.announced = Announced::Granted(receive);
            }
        }
    }

    /// Reports to the peer that its oldest message has no receive.
    #[cold]
    fn report_stall(&mut self, out: &mut impl Transmit) {
        if !self.inbound.is_stall_reported {
            self.inbound.is_stall_reported = self.write(Body::NoReceive, &[], out);
        }
    }

    /// Stores an unexpected message into a receive. Returns whether that succeeded.
    fn store(
        &mut self,
        queues: &mut WorkQueues,
        upcalls: &mut Upcalls,
        receive: TakenReceive,
        message: &Unexpected,
        length: u64,
    ) -> bool {
        let local = LocalMemory { segments: &receive.segments, domain: receive.domain };
        let mut destinations = std::mem::take(&mut self.spans);
        destinations.clear();
        let range = (0, length);
        let status = if length > receive.posted.length {
            DtoStatus::LocalLength
        } else if !transfer::local_spans(local, Privileges::LOCAL_WRITE, range, &mut destinations) {
            DtoStatus::LocalProtection
        } else {
            match bytes::scatter(&message.data, &destinations) {
                Ok(_) => DtoStatus::Success,
                Err(_) => DtoStatus::LocalProtection,
            }
        };
        destinations.clear();
        self.spans = destinations;
        self.counts.note_taken();
        if status != DtoStatus::Success {
            queues.receives.fail(receive.posted, status, upcalls);
            self.inbound.refuse(BreakCause::Receive);
            return false;
        }
        queues.complete_message(receive.posted, length, message.extra, message.solicited, upcalls);
        self.inbound.note_executed();
        true
    }

    /// The memory of an answer is lost. Nothing was written: false.
    #[cold]
    fn end_unanswered(&mut self, failed: Reason) -> bool {
        self.inbound.refusal.get_or_insert(BreakCause::Access);
        self.end(EndCause::Broken, Some(failed));
        false
    }

    /// Writes a piece of the oldest answer. Returns whether one was written.
    pub(super) fn write_answer(&mut self, out: &mut impl Transmit, queues: &WorkQueues) -> bool {
        let Some(PendingAnswer { number, data }) = self.inbound.answers.pop_front() else {
            return false;
        };
        let mut spans = std::mem::take(&mut self.spans);
        spans.clear();
        let (left, sent) = match &data {
            AnswerData::Read(target, sent) => (target.length - sent, *sent),
            AnswerData::Word(word) => {
                spans.push(bytes::source(word));
                (8, 0)
            }
        };
        let length = left.min(out.writer().max_next_piece());
        let last = length == left;
        let failed = Reason::Broken { request: number, status: DtoStatus::RemoteAccess };
        if let AnswerData::Read(target, sent) = &data {
            let range = (*sent, length);
            let remote = queues.remote(target);
            if !transfer::remote_spans(remote, Privileges::REMOTE_READ, range, &mut spans) {
                return self.end_unanswered(failed);
            }
        }
        if !last {
            // The counts in this frame must not include the request, so a placeholder represents it.
            self.inbound
                .answers
                .push_front(PendingAnswer { number, data: AnswerData::Word([0; 8]) });
        }
        let written = self.try_write(&self.frame(Body::Data { length, last }), &spans, out);
        self.spans = spans;
        if !last {
            self.inbound.answers.pop_front();
        }
        let Ok(written) = written else {
            return self.end_unanswered(failed);
        };
        match data {
            AnswerData::Read(target, _) if written && !last => {
                let data = AnswerData::Read(target, sent + length);
                self.inbound.answers.push_front(PendingAnswer { number, data });
            }
            data if !written => self.inbound.answers.push_front(PendingAnswer { number, data }),
            _ => {}
        }
        written
    }
}
