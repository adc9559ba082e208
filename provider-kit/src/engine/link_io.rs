//! Reading and writing the link of a connection.

use dat_provider::mem::Span;
use dat_provider::status::DtoStatus;
use rustix::io::Errno;

use super::connection::{Connection, EndCause, Stage};
use super::frame_sink::ConnectionSink;
use super::work_queues::WorkQueues;
use crate::bytes;
use crate::frame::{AckHead, Body, Frame, MessageHead, Reason};
use crate::handshake::Message;
use crate::link::{Budget, End, Progress, Written};
use crate::upcalls::Upcalls;

/// Registered memory that a frame was to carry is not readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

/// Whether the error of a link says that the program has closed its descriptor: no other error does, and no call with
/// the descriptor succeeds any more.
fn is_lost_link(errno: i32) -> bool {
    [Errno::BADF, Errno::NOTSOCK].contains(&Errno::from_raw_os_error(errno))
}

impl Connection {
    /// Writes a message of the handshake. A new link has space for it; if it had none, the handshake
    /// of the peer would time out.
    pub(super) fn send_handshake(&mut self, message: &Message) {
        let _ = self.write(message.frame.body, &[bytes::source(&message.payload)]);
    }

    /// Writes a frame. Returns whether the link took it.
    pub(super) fn write(&mut self, body: Body, payload: &[Span]) -> bool {
        self.try_write(body, payload) == Ok(true)
    }

    /// As [`write`](Self::write), with an error if the payload is not readable.
    pub(super) fn try_write(&mut self, body: Body, payload: &[Span]) -> Result<bool, Unreadable> {
        if self.is_write_closed || self.is_write_blocked {
            return Ok(false);
        }
        let frame = self.frame(body);
        let written = if self.may_hold(&body) {
            self.writer.hold(&frame, payload)
        } else {
            self.writer.write(&frame, payload)
        };
        let is_unreadable = written == Ok(Written::Unreadable);
        let is_taken = self.note_written(written, (frame.done, frame.posted));
        if is_unreadable { Err(Unreadable) } else { Ok(is_taken) }
    }

    /// Writes the last frame of the link. Returns whether the link took it.
    pub(super) fn write_last(&mut self, body: Body) -> bool {
        if self.is_write_closed || self.is_write_blocked {
            return false;
        }
        let frame = self.frame(body);
        let written = self.writer.write_last(&frame);
        self.note_written(written, (frame.done, frame.posted))
    }

    /// A frame with the counts that the peer must know.
    fn frame(&self, body: Body) -> Frame {
        Frame { done: self.done(), posted: self.posted, ..Frame::new(body) }
    }

    /// Writes a message of one span, while `writes_at_once` holds and the link cannot hold frames. Returns
    /// whether the link took it.
    #[inline]
    pub(super) fn write_message(&mut self, length: u64, solicited: bool, payload: Span) -> bool {
        // There are no answers to write, so all that was executed is done.
        let head = MessageHead { length, solicited, done: self.executed, posted: self.posted };
        let written = self.writer.write_message(&head, payload);
        self.note_written(written, (head.done, head.posted))
    }

    /// Sends an acknowledgement, while `writes_at_once` holds. Returns whether the link took and sent it.
    pub(super) fn write_ack(&mut self) -> bool {
        let head = AckHead { done: self.executed, posted: self.posted };
        let written = self.writer.write_ack(&head);
        self.note_written(written, (head.done, head.posted)) && !self.has_backlog
    }

    /// Notes what became of a frame with these counts. Returns whether the link took it.
    #[inline(always)]
    fn note_written(&mut self, written: Result<Written, End>, counts: (u32, u32)) -> bool {
        match written {
            Ok(taken @ (Written::Taken | Written::Buffered | Written::Held)) => {
                self.has_backlog |= taken == Written::Buffered;
                self.set_holding(taken == Written::Held);
                (self.reported_executed, self.reported_posted) = counts;
                true
            }
            Ok(Written::Full) => {
                self.is_write_blocked = true;
                false
            }
            Ok(Written::Unreadable) => false,
            Err(end) => {
                self.note_write_end(&end);
                false
            }
        }
    }

    /// Writes a frame with the collected spans as its payload. Returns whether the link took it.
    pub(super) fn write_spans(&mut self, body: Body) -> Result<bool, Unreadable> {
        let spans = std::mem::take(&mut self.spans);
        let written = self.try_write(body, &spans);
        self.spans = spans;
        written
    }

    /// Reads the frames that arrived. Returns whether there was anything, including the end of the link.
    #[inline(always)]
    pub(super) fn read(&mut self, queues: &mut WorkQueues, upcalls: &mut Upcalls) -> bool {
        if self.peer_failure.is_some() {
            return false;
        }
        let Some(mut reader) = self.reader.take() else { return false };
        self.has_read_plain = true;
        let mut sink = ConnectionSink { conn: self, queues, upcalls };
        let outcome = reader.read(&mut sink, Budget::default());
        self.reader = Some(reader);
        self.has_unread = false;
        match outcome {
            Ok(Progress::Drained(has_arrived)) => return has_arrived,
            Ok(Progress::More) => self.has_unread = true,
            Err(end) => self.note_read_end(&end),
        }
        true
    }

    /// The descriptor of the link is readable, or something else makes the driver read the link.
    pub(super) fn note_readable(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.note_readable();
        }
    }

    /// A read found the end of the link.
    #[cold]
    fn note_read_end(&mut self, end: &End) {
        match end {
            End::Lost(errno) if is_lost_link(*errno) => self.note_lost_descriptor(),
            _ if self.peer_failure.is_some() => {}
            End::Closed | End::Gone if !self.is_peer_lost => {
                self.end(EndCause::Disconnected, None);
            }
            End::Closed | End::Gone | End::Lost(_) => self.end(EndCause::Broken, None),
            End::Malformed(_) | End::Refused | End::Inaccessible => {
                let reason = Reason::Broken { request: 0, status: DtoStatus::Flushed };
                self.end(EndCause::Broken, Some(reason));
            }
        }
    }

    /// Writes what the link takes, and completes the requests that the peer has executed.
    pub(super) fn progress(&mut self, queues: &mut WorkQueues, upcalls: &mut Upcalls) {
        if self.is_write_blocked || self.has_backlog {
            self.flush_link();
        }
        if self.stage == Stage::Open {
            self.serve_srq(queues, upcalls);
            self.answer_offer();
            loop {
                if self.peer_failure.is_some() && (self.answers.is_empty() || self.is_write_closed)
                {
                    let reason = self.peer_failure.take();
                    return self.end(EndCause::Broken, reason);
                }
                self.complete(queues, upcalls);
                if self.ending.is_some() {
                    return;
                }
                let has_failed = self.peer_failure.is_some();
                if !(self.write_answer(queues) || !has_failed && self.write_request(queues)) {
                    break;
                }
            }
        }
        self.send_held();
    }

    /// Sends what the link has copied.
    pub(super) fn flush_link(&mut self) {
        match self.writer.flush() {
            Ok(is_left) => {
                (self.is_write_blocked, self.has_backlog) = (is_left, is_left);
                self.writes_at_once &= !is_left;
            }
            Err(end) => self.note_write_end(&end),
        }
    }

    /// A write found the end of the link. The system reports the loss of a peer only once, and the reader
    /// finds an orderly end after that.
    #[cold]
    fn note_write_end(&mut self, end: &End) {
        self.is_write_closed = true;
        self.writes_at_once = false;
        self.is_peer_lost |= matches!(end, End::Lost(_));
        if matches!(end, End::Lost(errno) if is_lost_link(*errno)) {
            self.note_lost_descriptor();
        }
    }

    /// The program has closed the descriptor of the link, which ends without another call.
    #[cold]
    pub(super) fn note_lost_descriptor(&mut self) {
        self.has_lost_descriptor = true;
        self.is_write_closed = true;
        self.writes_at_once = false;
        self.end(EndCause::Broken, None);
    }

    /// Sends an acknowledgement if the peer may wait for one: if receives were posted that it should
    /// learn of, or if requests were executed. The latter may wait for the next frame (`may_wait`).
    pub(super) fn acknowledge(&mut self, may_wait: bool) {
        let is_due = self.owes_acknowledgement() && !may_wait;
        if is_due || self.owes_credits() && self.is_open() && self.ending.is_none() {
            let _ = self.write(Body::Ack, &[]);
        }
    }

    /// Whether receives were posted that the peer should learn of: it has no credits left, or fewer than
    /// the unreported ones, so that it need not stop.
    #[inline]
    pub(super) fn owes_credits(&self) -> bool {
        let unreported = self.posted.wrapping_sub(self.reported_posted);
        let known = self.reported_posted.wrapping_sub(self.receives_taken);
        unreported > 0 && (known == 0 || unreported > 1 && unreported >= known)
    }

    /// Whether requests were executed that the peer has not been notified of.
    #[inline]
    pub(super) fn owes_acknowledgement(&self) -> bool {
        self.stage == Stage::Open && self.ending.is_none() && self.reported_executed != self.done()
    }
}
