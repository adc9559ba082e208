//! What the peer requested: messages and writes that arrive, and answers that are owed.

use dat_provider::flags::Privileges;
use dat_provider::status::DtoStatus;
use dat_provider::triplet::RmrTriplet;

use super::conn::{Conn, How};
use super::receives::Taken;
use super::side::Side;
use crate::bytes;
use crate::frame::{Body, Frame, MAX_PIECE, Reason};
use crate::transfer::{self, LocalMemory};
use crate::upcalls::Upcalls;
use crate::window;

/// An answer that is owed to the peer.
pub(super) struct Answer {
    /// The number of the request.
    pub(super) number: u32,
    pub(super) what: Answering,
}

pub(super) enum Answering {
    /// The bytes of a place, and how many of them were written.
    Read(RmrTriplet, u64),
    /// The word that an atomic found.
    Word([u8; 8]),
}

/// A message or write of the peer's that is on its way.
pub(super) struct Arriving {
    pub(super) what: Arrival,
    pub(super) length: u64,
    /// Bytes of the frames before the current one.
    pub(super) received: u64,
    /// The memory vanished meanwhile.
    pub(super) fault: bool,
}

pub(super) enum Arrival {
    Message { taken: Taken, solicited: bool, invalidate: Option<u32> },
    Write { place: RmrTriplet, immediate: Option<(u32, bool)> },
}

/// A message that waits for a receive of a shared queue.
pub(super) struct Kept {
    pub(super) data: Vec<u8>,
    pub(super) solicited: bool,
    pub(super) invalidate: Option<u32>,
}

/// Whose payload arrives.
pub(super) enum Current {
    None,
    /// The number of bytes of what is arriving.
    Request(u64),
    /// The number of bytes of the oldest answer; whether they are the last.
    Data(u64, bool),
    /// A frame of the handshake.
    Handshake(Frame, Vec<u8>),
    /// A message that is kept until there is a receive.
    Kept(Kept),
}

impl Conn {
    /// Requests of the peer that are executed and answered.
    pub(super) fn done(&self) -> u32 {
        self.answers.front().map_or(self.executed, |answer| answer.number)
    }

    /// Takes a buffer for an announced message.
    pub(super) fn grant(&mut self, side: &mut Side, upcalls: &mut Upcalls) {
        while let Some(kept) = self.kept.front() {
            let length = kept.data.len() as u64;
            if kept.invalidate.is_some_and(|key| !window::is_bound(key, side.domain, side.number)) {
                return self.fail(DtoStatus::RemoteAccess);
            }
            let Some(taken) = side.receives.take(upcalls) else { return };
            let Some(kept) = self.kept.pop_front() else { return };
            if !self.store(side, upcalls, taken, &kept, length) {
                return;
            }
        }
        if self.announced && self.buffer.is_none() {
            self.buffer = side.receives.take(upcalls);
        }
        if self.announced && self.buffer.is_some() && self.write(Body::Cts, &[]) {
            self.announced = false;
        }
    }

    /// Stores a message that was kept into a receive; whether it could be.
    fn store(
        &mut self,
        side: &mut Side,
        upcalls: &mut Upcalls,
        taken: Taken,
        kept: &Kept,
        length: u64,
    ) -> bool {
        let local = LocalMemory { segments: &taken.segments, domain: taken.domain };
        let mut places = std::mem::take(&mut self.spans);
        places.clear();
        let part = (0, length);
        let status = if length > taken.posted.length {
            DtoStatus::LocalLength
        } else if !transfer::local_spans(local, Privileges::LOCAL_WRITE, part, &mut places) {
            DtoStatus::LocalProtection
        } else {
            bytes::scatter(&kept.data, &places);
            DtoStatus::Success
        };
        places.clear();
        self.spans = places;
        self.taken = self.taken.wrapping_add(1);
        if status != DtoStatus::Success {
            side.receives.fail(taken.posted, status, upcalls);
            self.fail(DtoStatus::RemoteResponder);
            return false;
        }
        side.receive(taken.posted, length, kept.invalidate, kept.solicited, upcalls);
        self.executed = self.executed.wrapping_add(1);
        true
    }

    /// The request that is being executed failed, and the connection with it.
    pub(super) fn fail(&mut self, status: DtoStatus) {
        let request = self.executed;
        self.failed.get_or_insert(Reason::Broken { request, status });
    }

    /// Writes a piece of the oldest answer; whether one was written.
    pub(super) fn write_answer(&mut self, side: &Side) -> bool {
        let Some(Answer { number, what }) = self.answers.pop_front() else { return false };
        let mut spans = std::mem::take(&mut self.spans);
        spans.clear();
        let (left, sent) = match &what {
            Answering::Read(place, sent) => (place.length - sent, *sent),
            Answering::Word(word) => {
                spans.push(bytes::source(word));
                (8, 0)
            }
        };
        let length = left.min(MAX_PIECE);
        let last = length == left;
        if let Answering::Read(place, sent) = &what {
            let part = (*sent, length);
            if !transfer::remote_spans(
                side.remote(place),
                Privileges::REMOTE_READ,
                part,
                &mut spans,
            ) {
                let status = DtoStatus::RemoteAccess;
                self.end(How::Broken, Some(Reason::Broken { request: number, status }));
                return false;
            }
        }
        if !last {
            // Before the answer is complete, its request is not done.
            self.answers.push_front(Answer { number, what: Answering::Word([0; 8]) });
        }
        let written = self.write(Body::Data { length, last }, &spans);
        self.spans = spans;
        if !last {
            self.answers.pop_front();
        }
        match what {
            Answering::Read(place, _) if written && !last => {
                let what = Answering::Read(place, sent + length);
                self.answers.push_front(Answer { number, what });
            }
            what if !written => self.answers.push_front(Answer { number, what }),
            _ => {}
        }
        written
    }
}
