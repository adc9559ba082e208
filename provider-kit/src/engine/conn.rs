//! A connection: the link, the requests that were posted to it, and the peer's that arrive.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use dat_provider::Peer;
use dat_provider::mem::Span;
use dat_provider::status::DtoStatus;
use rustix::event::epoll::EventFlags;

use super::receives::Taken;
use super::responder::{Answer, Arriving, Current, Kept};
use super::side::Side;
use super::work::Item;
use crate::bytes;
use crate::frame::{Body, Frame, Reason};
use crate::handshake::{self, Active, Message};
use crate::link::{Budget, Progress, Reader, Writer, Written};
use crate::upcalls::Upcalls;

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
    /// The reason for the peer.
    pub(super) tell: Option<Reason>,
}

/// What the event of an established connection says.
pub(super) struct Established {
    pub(super) private_data: Vec<u8>,
    pub(super) peer: Peer,
    pub(super) local_port: u64,
}

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
    pub(super) spans: Vec<Span>,
    /// The link takes no more bytes now.
    pub(super) full: bool,
    /// The last read left frames behind, of which the link's descriptor does not tell.
    pub(super) more: bool,
    /// A request of the peer failed. This ends the connection, after the answers to earlier ones.
    pub(super) failed: Option<Reason>,
    /// Nothing can be written any more.
    pub(super) dead: bool,
    /// It is listed for the next check of the thread.
    pub(super) listed: bool,
    /// The thread watches the link, and for what.
    pub(super) watched: Option<EventFlags>,
    /// What the link's descriptor becomes when there is room.
    pub(super) room: EventFlags,
    /// Some thread waits for the link's descriptor.
    pub(super) armed: bool,
    /// A poller reads the link; how often its queues had been polled at the last look.
    pub(super) lent: bool,
    pub(super) polls: u64,
    /// Until when it is not lent, and for how long it was not, since the peer had to wait for a poll.
    pub(super) kept_until: Option<Instant>,
    pub(super) kept_for: Duration,
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
        let room = if reader.is_readable_for_room() { EventFlags::IN } else { EventFlags::OUT };
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
            failed: None,
            more: false,
            dead: false,
            listed: false,
            watched: None,
            room,
            armed: true,
            lent: false,
            polls: 0,
            kept_until: None,
            kept_for: Duration::ZERO,
            established: None,
            ending: None,
        }
    }

    /// Takes note of what the peer says of itself.
    pub(super) fn meet(&mut self, side: &handshake::SideInfo) {
        self.peer_shared = side.is_shared;
        self.peer_reads = side.reads.max(1);
        self.credit = side.posted;
    }

    /// Writes a message of the handshake; the link takes it at once. If it does not, the connection
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

    /// Writes a frame with the collected spans as its payload.
    pub(super) fn write_spans(&mut self, body: Body) -> bool {
        let spans = std::mem::take(&mut self.spans);
        let is_written = self.write(body, &spans);
        self.spans = spans;
        is_written
    }

    /// Reads what came.
    pub(super) fn read(&mut self, side: &mut Side, upcalls: &mut Upcalls) {
        if self.failed.is_some() {
            return;
        }
        let Some(mut reader) = self.reader.take() else { return };
        let outcome =
            reader.read(&mut super::sink::Sink { conn: self, side, upcalls }, Budget::default());
        self.reader = Some(reader);
        self.more = outcome == Ok(Progress::More);
        match outcome {
            Ok(_) => {}
            Err(_) if self.failed.is_some() => {}
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
                if self.failed.is_some() && (self.answers.is_empty() || self.dead) {
                    let reason = self.failed.take();
                    return self.end(How::Broken, reason);
                }
                self.complete(side, upcalls);
                if self.ending.is_some() {
                    return;
                }
                let has_failed = self.failed.is_some();
                if !(self.write_answer(side) || !has_failed && self.write_request(side)) {
                    break;
                }
            }
        }
    }

    /// Tells the peer that it can send again, and what was executed, unless the next frame of a
    /// consumer that polls is to carry that.
    pub(super) fn acknowledge(&mut self, may_wait: bool) {
        let has_no_credit = self.told_posted == self.taken && self.posted != self.told_posted;
        let is_owed = self.owes() && !may_wait;
        if is_owed || has_no_credit && self.is_open() && self.ending.is_none() {
            let _ = self.write(Body::Ack, &[]);
        }
    }

    /// Whether the peer does not know all that was executed.
    pub(super) fn owes(&self) -> bool {
        self.stage == Stage::Open && self.ending.is_none() && self.told_done != self.done()
    }
}
