//! A connection: the link, the requests that were posted to it, and the peer's that arrive.

use std::collections::VecDeque;

use dat_provider::flags::{CompletionFlags, Privileges};
use dat_provider::mem::Span;
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::triplet::RmrTriplet;
use dat_provider::{Completion, CompletionFeatures, Peer, Work};
use rustix::event::epoll::EventFlags;

use super::receives::{Receives, Taken};
use super::work::{Item, Task};
use crate::bytes;
use crate::credits::Room;
use crate::frame::{Body, Frame, PIECE, Reason, Remote as Place};
use crate::handshake::{self, Active, Message};
use crate::link::{Budget, Progress, Reader, Writer, Written};
use crate::outlet::{Outlet, Upcalls};
use crate::receive_ring::Posted;
use crate::transfer::{self, Local, Remote};
use crate::window;

/// What of a queue pair outlives its connections.
pub(super) struct Side {
    pub(super) requests: Outlet,
    pub(super) room: Room,
    pub(super) receives: Receives,
    /// 0 while there is none.
    pub(super) domain: u32,
    /// What windows know the queue pair by.
    pub(super) number: u32,
    /// The most reads and atomics of the peer, and to the peer, at a time.
    pub(super) reads: (u32, u32),
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The active side waits for the answer.
    Answer,
    /// The passive side waits for the confirmation.
    Ready,
    Open,
}

/// How a connection ends.
#[derive(Debug)]
pub(super) enum How {
    Disconnected,
    Broken,
    /// The peer's consumer rejected it, with private data.
    Rejected(Vec<u8>),
    /// The peer's provider refused it.
    Refused,
}

/// The end of a connection, which is still to be carried out.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) how: How,
    /// What the peer is told.
    pub(super) tell: Option<Reason>,
}

/// What the event of an established connection says.
pub(super) struct Established {
    pub(super) private_data: Vec<u8>,
    pub(super) peer: Peer,
    pub(super) local_port: u64,
}

/// An answer that is owed to the peer.
pub(super) struct Answer {
    /// The number of the request.
    pub(super) number: u32,
    pub(super) what: Answering,
}

pub(super) enum Answering {
    /// The bytes of a place, of which so many were written.
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
    /// So many bytes of what is arriving.
    Request(u64),
    /// So many bytes of the oldest answer; whether they are the last.
    Data(u64, bool),
    /// A frame of the handshake.
    Handshake(Frame, Vec<u8>),
    /// A message that is kept until there is a receive.
    Kept(Kept),
}

/// A peer that knows of fewer receives than these is told of each one that is posted.
const LOW: u32 = 16;
/// The longest message, in bytes, that is sent to a shared queue without being announced, and the
/// most that are not acknowledged.
pub(super) const EAGER: u64 = 4096;
pub(super) const MOST_EAGER: usize = 16;

pub(super) struct Conn {
    pub(super) stage: Stage,
    /// Of the active side, until the answer.
    pub(super) handshake: Option<Box<Active>>,
    /// Absent while it reads.
    pub(super) reader: Option<Box<dyn Reader>>,
    pub(super) writer: Box<dyn Writer>,
    /// What the thread knows the link by.
    pub(super) token: u64,
    pub(super) peer: Peer,
    pub(super) local_port: u64,
    /// The peer's receives are shared.
    pub(super) peer_shared: bool,
    /// Reads and atomics that the peer executes at a time; those that were begun and not answered.
    pub(super) peer_reads: u32,
    pub(super) reads: u32,
    /// Numbers of the messages that were sent without a receive of the peer's shared queue.
    pub(super) eager: VecDeque<u32>,
    pub(super) work: VecDeque<Item>,
    /// Items that were written wholly.
    pub(super) sent: usize,
    /// The number of the next request.
    pub(super) next: u32,
    /// Requests that the peer executed.
    pub(super) peer_done: u32,
    /// Receives that the peer posted, and those that were used up.
    pub(super) credit: u32,
    pub(super) used: u32,
    /// The next message was announced; the peer has a buffer for it.
    pub(super) asked: bool,
    pub(super) granted: bool,
    /// Requests of the peer that were executed.
    pub(super) executed: u32,
    pub(super) told_done: u32,
    /// Receives that were posted, those that the peer knows of, and those that were taken.
    pub(super) posted: u32,
    pub(super) told_posted: u32,
    pub(super) taken: u32,
    pub(super) arriving: Option<Arriving>,
    pub(super) current: Current,
    pub(super) answers: VecDeque<Answer>,
    /// The peer announced a message; the buffer that was taken for it.
    pub(super) announced: bool,
    pub(super) buffer: Option<Taken>,
    /// Messages of the peer that wait for receives of a shared queue.
    pub(super) kept: VecDeque<Kept>,
    /// Memory for the spans of a frame.
    spans: Vec<Span>,
    /// The link has no room.
    pub(super) full: bool,
    /// The last read left frames behind, of which the link's descriptor does not tell.
    pub(super) more: bool,
    /// Nothing can be written any more.
    pub(super) dead: bool,
    /// The thread looks at it soon.
    pub(super) listed: bool,
    /// The thread watches the link, and for what.
    pub(super) watched: Option<EventFlags>,
    /// A poller reads the link; how often its queues had been polled at the last look.
    pub(super) lent: bool,
    pub(super) polls: u64,
    pub(super) established: Option<Established>,
    pub(super) ending: Option<Ending>,
}

impl Conn {
    pub(super) fn new(
        stage: Stage,
        (reader, writer): (Box<dyn Reader>, Box<dyn Writer>),
        token: u64,
        (peer, local_port): (Peer, u64),
        posted: u32,
    ) -> Self {
        Self {
            stage,
            handshake: None,
            reader: Some(reader),
            writer,
            token,
            peer,
            local_port,
            peer_shared: false,
            peer_reads: 1,
            reads: 0,
            eager: VecDeque::new(),
            work: VecDeque::new(),
            sent: 0,
            next: 0,
            peer_done: 0,
            credit: 0,
            used: 0,
            asked: false,
            granted: false,
            executed: 0,
            told_done: 0,
            posted,
            told_posted: posted,
            taken: 0,
            arriving: None,
            current: Current::None,
            answers: VecDeque::new(),
            announced: false,
            buffer: None,
            kept: VecDeque::new(),
            spans: Vec::new(),
            full: false,
            more: false,
            dead: false,
            listed: false,
            watched: None,
            lent: false,
            polls: 0,
            established: None,
            ending: None,
        }
    }

    /// Takes note of what the peer says of itself.
    pub(super) fn meet(&mut self, side: &handshake::Side) {
        self.peer_shared = side.is_shared;
        self.peer_reads = side.reads.max(1);
        self.credit = side.posted;
    }

    /// Writes a message of the handshake; the link has room for it. If it has not, the connection
    /// ends when the peer has waited for it.
    pub(super) fn say(&mut self, message: &Message) {
        let _ = self.write(message.frame.body, &[bytes::source(&message.payload)]);
    }

    /// Takes note of the counts in a frame of the peer. Returns whether they are possible: no count
    /// goes back, and nothing is executed that was not sent.
    pub(super) fn count(&mut self, done: u32, posted: u32) -> bool {
        let more = done.wrapping_sub(self.peer_done);
        let is_possible = more <= self.next.wrapping_sub(self.peer_done)
            && (posted.wrapping_sub(self.credit) as i32) >= 0;
        if is_possible {
            (self.peer_done, self.credit) = (done, posted);
            while self.eager.front().is_some_and(|wire| done.wrapping_sub(*wire) as i32 > 0) {
                self.eager.pop_front();
            }
        }
        is_possible
    }

    pub(super) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    /// Requests of the peer that are executed and answered.
    fn done(&self) -> u32 {
        self.answers.front().map_or(self.executed, |answer| answer.number)
    }

    /// Ends the connection, unless it ends already.
    pub(super) fn end(&mut self, how: How, tell: Option<Reason>) {
        self.ending.get_or_insert(Ending { how, tell });
    }

    /// Writes a frame; whether the link took it.
    pub(super) fn write(&mut self, body: Body, payload: &[Span]) -> bool {
        if self.dead || self.full {
            return false;
        }
        let frame = Frame { done: self.done(), posted: self.posted, ..Frame::new(body) };
        match self.writer.write(&frame, payload) {
            Ok(Written::Taken) => {
                (self.told_done, self.told_posted) = (frame.done, frame.posted);
                true
            }
            Ok(Written::Full) => {
                self.full = true;
                false
            }
            Err(_) => {
                self.dead = true;
                false
            }
        }
    }

    /// Reads what came.
    pub(super) fn read(&mut self, side: &mut Side, upcalls: &mut Upcalls) {
        let Some(mut reader) = self.reader.take() else { return };
        let outcome =
            reader.read(&mut super::sink::Sink { conn: self, side, upcalls }, Budget::default());
        self.reader = Some(reader);
        self.more = outcome == Ok(Progress::More);
        match outcome {
            Ok(_) => {}
            Err(end) => {
                use crate::link::End;
                match end {
                    End::Closed | End::Gone => self.end(How::Disconnected, None),
                    End::Lost(_) => self.end(How::Broken, None),
                    End::Malformed(_) | End::Refused => {
                        let reason = Reason::Broken { request: 0, status: DtoStatus::Flushed };
                        self.end(How::Broken, Some(reason));
                    }
                }
            }
        }
    }

    /// Writes what can be written, and completes what is complete.
    pub(super) fn pump(&mut self, side: &mut Side, upcalls: &mut Upcalls) {
        match self.writer.flush() {
            Ok(waits) => self.full = waits,
            Err(_) => self.dead = true,
        }
        if self.stage == Stage::Open {
            self.grant(side, upcalls);
            loop {
                self.complete(side, upcalls);
                if self.ending.is_some() {
                    return;
                }
                if !(self.write_answer(side) || self.write_request(side)) {
                    break;
                }
            }
        }
    }

    /// Whether the next message waits for a receive of the peer's.
    pub(super) fn waits_for_credit(&self) -> bool {
        self.stage == Stage::Open && self.sent < self.work.len()
    }

    /// Tells the peer what it waits for.
    pub(super) fn acknowledge(&mut self) {
        let known = self.told_posted.wrapping_sub(self.taken);
        let starving = known < LOW && self.posted != self.told_posted;
        if self.owes() || starving && self.stage == Stage::Open {
            let _ = self.write(Body::Ack, &[]);
        }
    }

    /// Whether the peer does not know all that was executed.
    pub(super) fn owes(&self) -> bool {
        self.stage == Stage::Open && self.ending.is_none() && self.told_done != self.done()
    }

    /// Takes a buffer for an announced message.
    fn grant(&mut self, side: &mut Side, upcalls: &mut Upcalls) {
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
        let local = Local { segments: &taken.segments, domain: taken.domain };
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
        self.end(How::Broken, Some(Reason::Broken { request, status }));
    }

    /// Completes the oldest requests, as far as they are executed.
    pub(super) fn complete(&mut self, side: &mut Side, upcalls: &mut Upcalls) {
        while let Some(front) = self.work.front() {
            let status = match (front.failed, front.wire) {
                (Some(status), _) => status,
                (None, Some(wire))
                    if self.sent > 0
                        && front.answered
                        && self.peer_done.wrapping_sub(wire) as i32 > 0 =>
                {
                    DtoStatus::Success
                }
                _ => return,
            };
            let Some(item) = self.work.pop_front() else { return };
            self.sent = self.sent.saturating_sub(1);
            side.finish(&item, status, upcalls);
            if status != DtoStatus::Success {
                let reason = Reason::Broken { request: 0, status: DtoStatus::Flushed };
                return self.end(How::Broken, Some(reason));
            }
        }
    }

    /// Writes a piece of the oldest answer; whether one was written.
    fn write_answer(&mut self, side: &Side) -> bool {
        let Some(Answer { number, what }) = self.answers.pop_front() else { return false };
        let mut spans = Vec::new();
        let (left, sent) = match &what {
            Answering::Read(place, sent) => (place.length - sent, *sent),
            Answering::Word(word) => {
                spans.push(bytes::source(word));
                (8, 0)
            }
        };
        let length = left.min(PIECE);
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

    /// Writes the next frame of the oldest request that is not written wholly; whether there was
    /// progress.
    fn write_request(&mut self, side: &mut Side) -> bool {
        let index = self.sent;
        let earlier_answers = self.work.iter().take(index).any(|item| !item.answered);
        let Some(item) = self.work.get_mut(index) else { return false };
        if item.failed.is_some() {
            return false;
        }
        if let Task::Bind(bind) = &item.task {
            if index > 0 {
                return false;
            }
            let bound = bind.execute(side.domain);
            // It was never on the link.
            item.failed = Some(if bound { DtoStatus::Success } else { DtoStatus::RmrFailed });
            return true;
        }
        if item.flags.contains(CompletionFlags::BARRIER_FENCE) && earlier_answers {
            return false;
        }
        let begins = item.wire.is_none();
        if begins && item.wants_answer() && self.reads >= self.peer_reads.min(side.reads.1.max(1)) {
            return false;
        }
        let is_eager = self.peer_shared && item.is_message() && item.length <= EAGER;
        if begins && is_eager {
            if self.eager.len() >= MOST_EAGER {
                return false;
            }
        } else if begins && !self.eager.is_empty() {
            // The peer may have to keep what was sent, and keeps nothing else.
            return false;
        } else if begins && item.takes_receive() {
            if self.peer_shared {
                if !self.granted {
                    let length = item.length;
                    if !self.asked && self.write(Body::Rts { length }, &[]) {
                        self.asked = true;
                    }
                    return false;
                }
            } else if self.credit == self.used {
                return false;
            }
        }
        let length = (item.length - item.sent).min(PIECE);
        let last = item.sent + length == item.length;
        let local = Local { segments: &item.segments, domain: side.domain };
        let mut spans = Vec::new();
        if !transfer::local_spans(local, Privileges::LOCAL_READ, (item.sent, length), &mut spans) {
            item.failed = Some(DtoStatus::LocalProtection);
            return true;
        }
        let body = if begins { opening(item) } else { Some(Body::More { length, last }) };
        let Some(body) = body else {
            item.failed = Some(DtoStatus::LocalEndpoint);
            return true;
        };
        if !self.write(body, &spans) {
            return false;
        }
        let Some(item) = self.work.get_mut(index) else { return false };
        if begins {
            item.wire = Some(self.next);
            if is_eager {
                self.eager.push_back(self.next);
            }
            if item.wants_answer() {
                self.reads += 1;
            }
            self.next = self.next.wrapping_add(1);
            if item.takes_receive() && !is_eager {
                self.used = self.used.wrapping_add(1);
                (self.asked, self.granted) = (false, false);
            }
        }
        item.sent += length;
        if last {
            self.sent += 1;
        }
        true
    }

    /// Flushes all that is outstanding, after a request that the peer says has failed.
    pub(super) fn flush(
        &mut self,
        failed: Option<(u32, DtoStatus)>,
        side: &mut Side,
        upcalls: &mut Upcalls,
    ) {
        if let Some(Arriving { what: Arrival::Message { taken, .. }, .. }) = self.arriving.take() {
            side.receives.fail(taken.posted, DtoStatus::Flushed, upcalls);
        }
        if let Some(taken) = self.buffer.take() {
            side.receives.fail(taken.posted, DtoStatus::Flushed, upcalls);
        }
        while let Some(item) = self.work.pop_front() {
            let status = match (failed, item.wire) {
                (Some((number, status)), Some(wire)) if wire == number => status,
                (_, Some(wire))
                    if item.answered
                        && item.sent == item.length
                        && item.failed.is_none()
                        && self.peer_done.wrapping_sub(wire) as i32 > 0 =>
                {
                    DtoStatus::Success
                }
                _ => DtoStatus::Flushed,
            };
            side.finish(&item, status, upcalls);
        }
        side.receives.flush(upcalls);
    }
}

/// The frame that a request begins with.
fn opening(item: &Item) -> Option<Body> {
    let Task::Work(work) = &item.task else { return None };
    let length = item.length;
    let solicited = item.flags.contains(CompletionFlags::SOLICITED_WAIT);
    let place = |at: &RmrTriplet| Place { context: at.context, address: at.address };
    Some(match work {
        Work::Send => Body::Send { length, solicited, invalidate: None },
        Work::SendInvalidate { key } => Body::Send { length, solicited, invalidate: Some(*key) },
        Work::RdmaWrite { remote } => Body::Write { length, remote: place(remote) },
        Work::RdmaWriteImmediate { remote, immediate } => {
            Body::WriteImmediate { length, remote: place(remote), immediate: *immediate, solicited }
        }
        Work::RdmaRead { remote } | Work::RdmaReadToRmr { remote, .. } => {
            Body::Read { length: remote.length, remote: place(remote) }
        }
        Work::FetchAdd { add, remote } => Body::FetchAdd { remote: place(remote), add: *add },
        Work::CompareSwap { compare, swap, remote } => {
            Body::CompareSwap { remote: place(remote), compare: *compare, swap: *swap }
        }
        _ => return None,
    })
}

impl Side {
    /// What the peer is told of it.
    pub(super) fn introduce(&self, private_data: Vec<u8>) -> handshake::Side {
        let is_shared = self.receives.shared.is_some();
        let posted = self.receives.ring.count();
        handshake::Side { posted, is_shared, reads: self.reads.0, private_data }
    }

    /// Own memory that a remote key names.
    pub(super) fn remote<'a>(&self, place: &'a RmrTriplet) -> Remote<'a> {
        Remote { place, domain: self.domain, queue_pair: self.number }
    }

    /// Reports a message of the peer, after invalidating the window that it names.
    pub(super) fn receive(
        &mut self,
        posted: Posted,
        length: u64,
        invalidate: Option<u32>,
        solicited: bool,
        upcalls: &mut Upcalls,
    ) {
        let (operation, extra) = match invalidate {
            Some(key) => {
                window::invalidate(key, self.domain, self.number);
                (Operation::ReceiveWithInvalidate, u64::from(key))
            }
            None => (Operation::Receive, 0),
        };
        let (outcome, told) = ((length, DtoStatus::Success), (operation, extra, solicited));
        self.receives.finish(posted, outcome, told, upcalls);
    }

    /// Reports a request that ended.
    pub(super) fn finish(&self, item: &Item, status: DtoStatus, upcalls: &mut Upcalls) {
        let failed = status != DtoStatus::Success;
        if !failed && item.flags.contains(CompletionFlags::SUPPRESS) {
            return self.requests.skip();
        }
        let unsignalled = item.flags.contains(CompletionFlags::UNSIGNALLED);
        let features = CompletionFeatures { unsignalled, solicited: false, failed };
        let (cookie, operation, extra) = (item.cookie, item.operation(), item.extra());
        let length = if failed { 0 } else { item.reported() };
        if !failed && operation != Operation::Bind && extra == 0 {
            return self.requests.succeed((cookie, length, operation), features, upcalls);
        }
        let completion = Completion { tag: 0, cookie, length, extra, operation, status };
        self.requests.complete(completion, features, upcalls);
    }
}
