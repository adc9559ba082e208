//! The responder: answers to the peer, and eager messages that wait for a receive.

use dat_provider::flags::Privileges;
use dat_provider::status::DtoStatus;

use super::connection::{Connection, EndCause};
use super::inbound::{AnswerData, PendingAnswer, Unexpected};
use super::receive_queue::TakenReceive;
use super::work_queues::WorkQueues;
use crate::bytes;
use crate::frame::{Body, Reason};
use crate::transfer::{self, LocalMemory};
use crate::upcalls::Upcalls;
use crate::window;

impl Connection {
    /// Number of requests of the peer that are executed and answered.
    pub(super) fn done(&self) -> u32 {
        self.answers.front().map_or(self.executed, |answer| answer.number)
    }

    /// Takes buffers of the shared receive queue for unexpected messages, and for a message that the
    /// peer has announced with `RTS`.
    pub(super) fn serve_srq(&mut self, queues: &mut WorkQueues, upcalls: &mut Upcalls) {
        while let Some(message) = self.unexpected.front() {
            let length = message.data.len() as u64;
            let is_invalid = |key| !window::is_bound(key, queues.domain, queues.number);
            if message.invalidate.is_some_and(is_invalid) {
                return self.fail(DtoStatus::RemoteAccess);
            }
            let Some(receive) = queues.receives.take(upcalls) else { return };
            let Some(message) = self.unexpected.pop_front() else { return };
            if !self.store(queues, upcalls, receive, &message, length) {
                return;
            }
        }
        if self.rts_received && self.rts_receive.is_none() {
            self.rts_receive = queues.receives.take(upcalls);
        }
        if self.rts_received && self.rts_receive.is_some() && self.write(Body::Cts, &[]) {
            self.rts_received = false;
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
        self.receives_taken = self.receives_taken.wrapping_add(1);
        if status != DtoStatus::Success {
            queues.receives.fail(receive.posted, status, upcalls);
            self.fail(DtoStatus::RemoteResponder);
            return false;
        }
        queues.complete_message(
            receive.posted,
            length,
            message.invalidate,
            message.solicited,
            upcalls,
        );
        self.executed = self.executed.wrapping_add(1);
        true
    }

    /// Records that the current request of the peer failed, which breaks the connection.
    pub(super) fn fail(&mut self, status: DtoStatus) {
        let request = self.executed;
        self.peer_failure.get_or_insert(Reason::Broken { request, status });
    }

    /// Writes a piece of the oldest answer. Returns whether one was written.
    pub(super) fn write_answer(&mut self, queues: &WorkQueues) -> bool {
        let Some(PendingAnswer { number, data }) = self.answers.pop_front() else { return false };
        let mut spans = std::mem::take(&mut self.spans);
        spans.clear();
        let (left, sent) = match &data {
            AnswerData::Read(target, sent) => (target.length - sent, *sent),
            AnswerData::Word(word) => {
                spans.push(bytes::source(word));
                (8, 0)
            }
        };
        let length = left.min(self.writer.max_next_piece());
        let last = length == left;
        let failed = Reason::Broken { request: number, status: DtoStatus::RemoteAccess };
        if let AnswerData::Read(target, sent) = &data {
            let range = (*sent, length);
            let remote = queues.remote(target);
            if !transfer::remote_spans(remote, Privileges::REMOTE_READ, range, &mut spans) {
                self.end(EndCause::Broken, Some(failed));
                return false;
            }
        }
        if !last {
            // The counts in this frame must not include the request, so a placeholder represents it.
            self.answers.push_front(PendingAnswer { number, data: AnswerData::Word([0; 8]) });
        }
        let written = self.try_write(Body::Data { length, last }, &spans);
        self.spans = spans;
        if !last {
            self.answers.pop_front();
        }
        let Ok(written) = written else {
            self.end(EndCause::Broken, Some(failed));
            return false;
        };
        match data {
            AnswerData::Read(target, _) if written && !last => {
                let data = AnswerData::Read(target, sent + length);
                self.answers.push_front(PendingAnswer { number, data });
            }
            data if !written => self.answers.push_front(PendingAnswer { number, data }),
            _ => {}
        }
        written
    }
}
