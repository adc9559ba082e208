//! One direction of a link in memory, whose writes are full or held as the run chooses.

use std::collections::VecDeque;

use dat_provider::mem::{Memory, Span};

use super::choices::Choices;
use crate::bytes;
use crate::direct::{Access, AccessResult, Direction, Offer};
use crate::frame::{AckHead, Body, Frame, MessageHead};
use crate::link::{End, WriteResult, Writer};
use crate::protocol::{RequestFrame, Sent, Transmit};

/// A frame with its payload.
pub(super) type Packet = (Frame, Vec<u8>);

/// The writing half of a link.
pub(super) struct Wire {
    pub(super) choices: Choices,
    /// Frames that the peer has not read.
    pub(super) sent: VecDeque<Packet>,
    held: Vec<Packet>,
    /// True if requests may be held.
    pub(super) holds: bool,
    /// Number of writes that may yet find the link full.
    pub(super) refusals: u32,
    /// It takes nothing until the run makes space.
    pub(super) is_full: bool,
    pub(super) is_closed: bool,
    /// The counts of the last frame.
    counts: (u32, u32),
    /// Number of requests of the peer that were read.
    pub(super) requests_read: u32,
    /// Requests of the peer that were read and are not completely answered.
    pub(super) unanswered: VecDeque<u32>,
    pub(super) stub: Stub,
}

/// What a link can do besides writing frames.
pub(super) struct Stub {
    pub(super) choices: Choices,
    /// True if it offers messages, and true if a fetch may fail.
    pub(super) offers: Option<bool>,
    pub(super) accesses: bool,
    pub(super) piece: u64,
    /// The memory of the peer.
    pub(super) peer: Memory,
    /// The key of that memory.
    pub(super) key: u32,
}

impl Wire {
    pub(super) fn new(stub: Stub, first: u32) -> Self {
        Self {
            choices: stub.choices.clone(),
            sent: VecDeque::new(),
            held: Vec::new(),
            holds: false,
            refusals: 0,
            is_full: false,
            is_closed: false,
            counts: (first, first),
            requests_read: first,
            unanswered: VecDeque::new(),
            stub,
        }
    }

    /// A request of the peer was read.
    pub(super) fn note_read(&mut self, body: &Body) {
        let is_answered =
            matches!(body, Body::Read { .. } | Body::FetchAdd { .. } | Body::CompareSwap { .. });
        let is_request = is_answered
            || matches!(
                body,
                Body::Send { .. }
                    | Body::Write { .. }
                    | Body::WriteImmediate { .. }
                    | Body::Offer { .. }
            );
        if is_answered {
            self.unanswered.push_back(self.requests_read);
        }
        self.requests_read = self.requests_read.wrapping_add(u32::from(is_request));
    }

    /// The counts of a frame never go back, and cover no request that was not read or not answered.
    fn check_counts(&mut self, frame: &Frame) {
        if matches!(frame.body, Body::Data { last: true, .. }) {
            self.unanswered.pop_front();
        }
        let (done, posted) = self.counts;
        let ahead = |now: u32, before: u32| now.wrapping_sub(before) as i32;
        assert!(ahead(frame.done, done) >= 0, "done went back from {done}: {frame:?}");
        assert!(ahead(frame.posted, posted) >= 0, "posted went back from {posted}: {frame:?}");
        let limit = self.unanswered.front().copied().unwrap_or(self.requests_read);
        assert!(ahead(limit, frame.done) >= 0, "only {limit} are read and answered: {frame:?}");
        self.counts = (frame.done, frame.posted);
    }

    fn send_held(&mut self) {
        self.sent.extend(self.held.drain(..));
    }

    /// Sends the last frame, if there is one, and closes the link.
    pub(super) fn close(&mut self, last: Option<Frame>) {
        self.send_held();
        if let Some(frame) = last {
            self.check_counts(&frame);
            self.sent.push_back((frame, Vec::new()));
        }
        self.is_closed = true;
    }
}

impl Transmit for Wire {
    fn write(&mut self, frame: &Frame, payload: &[Span], request: Option<RequestFrame>) -> Sent {
        if self.is_closed || self.is_full {
            return Sent::NotTaken;
        }
        if self.refusals > 0 && self.choices.choose(2) == 1 {
            self.refusals -= 1;
            self.is_full = true;
            return Sent::NotTaken;
        }
        let mut bytes = Vec::new();
        if bytes::gather(payload, 0, &mut bytes).is_err() {
            return Sent::Unreadable;
        }
        assert_eq!(bytes.len() as u64, frame.payload(), "{frame:?}");
        self.check_counts(frame);
        self.held.push((*frame, bytes));
        if !(self.holds && request.is_some_and(|request| request.has_earlier)) {
            self.send_held();
        }
        Sent::Taken
    }

    fn write_message(&mut self, head: &MessageHead, payload: Span) -> Sent {
        self.write(&head.frame(), &[payload], None)
    }

    fn write_ack(&mut self, head: &AckHead) -> Sent {
        self.write(&head.frame(), &[], None)
    }

    fn flush(&mut self) -> Sent {
        if self.is_full || self.is_closed {
            return Sent::NotTaken;
        }
        self.send_held();
        Sent::Taken
    }

    fn has_unsent(&self) -> bool {
        self.is_full
    }

    fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn writer(&mut self) -> &mut dyn Writer {
        &mut self.stub
    }
}

impl Stub {
    /// The offset of a range in the memory of the peer.
    fn offset(&self, address: u64, length: u64) -> Option<usize> {
        let offset = address.checked_sub(self.peer.address())? as usize;
        (offset + length as usize <= self.peer.len()).then_some(offset)
    }

    /// Copies between the memory of the peer and local memory.
    fn copy(&self, direction: Direction, at: u64, local: &[Span]) -> Option<()> {
        let length = bytes::total(local);
        let offset = self.offset(at, length as u64)?;
        if direction == Direction::Read {
            bytes::scatter(&self.peer.to_vec(offset, length).ok()?, local).ok()?;
        } else {
            let mut bytes = Vec::new();
            bytes::gather(local, 0, &mut bytes).ok()?;
            self.peer.write(offset, &bytes).ok()?;
        }
        Some(())
    }
}

impl Writer for Stub {
    fn write(&mut self, _: &Frame, _: &[Span]) -> Result<WriteResult, End> {
        unreachable!("the protocol writes its frames to `Transmit`")
    }

    fn flush(&mut self) -> Result<bool, End> {
        unreachable!("the protocol flushes `Transmit`")
    }

    fn shut_down(&mut self) -> Result<(), End> {
        unreachable!("the protocol does not close the link")
    }

    fn max_next_piece(&self) -> u64 {
        self.piece
    }

    fn access(&mut self, access: &Access<'_>) -> AccessResult {
        if !self.accesses || access.remote.context != self.key || self.choices.choose(2) == 1 {
            return AccessResult::NotDirectly;
        }
        match self.copy(access.direction, access.remote.address, access.local) {
            Some(()) => AccessResult::Done,
            None => AccessResult::NotDirectly,
        }
    }

    fn can_offer(&self) -> bool {
        self.offers.is_some()
    }

    fn offer(&mut self, _: u64, _: bool) -> Option<u64> {
        self.offers.map(|_| 1)
    }

    fn fetch(&mut self, offer: &Offer<'_>) -> AccessResult {
        let may_fail = self.offers.unwrap_or(true);
        let [extent] = offer.extents else { return AccessResult::NotDirectly };
        if may_fail && self.choices.choose(2) == 1 {
            return AccessResult::NotDirectly;
        }
        match self.copy(Direction::Read, extent.address, offer.local) {
            Some(()) => AccessResult::Done,
            None => AccessResult::NotDirectly,
        }
    }
}
