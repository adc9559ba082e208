//! The state of a connection, and the frames that it writes.

use dat_provider::flags::Privileges;
use dat_provider::mem::Span;
use dat_provider::status::DtoStatus;
use dat_provider::{Epochs, Peer, RefusalCause};

use super::ack_delay::AckDelay;
use super::counts::Counts;
use super::credit_delay::CreditDelay;
use super::inbound::Inbound;
use super::outbound::{Outbound, ReceiveWait};
use super::reply_history::ReplyHistory;
use super::transmit::{RequestFrame, Sent, Transmit, Unreadable};
use crate::bytes;
use crate::direct::{self, Grant};
use crate::frame::{AckHead, Body, Frame, MessageHead, Reason};
use crate::handshake::{Active, Message};
use crate::link::End;
use crate::transfer::{self, LocalMemory};
use crate::work_queues::WorkQueues;

/// How far a connection is established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Active side: waits for `ANSWER`.
    AwaitAnswer,
    /// Passive side: waits for `READY`.
    AwaitReady,
    /// Established.
    Open,
}

/// Why a connection ends.
#[derive(Debug)]
pub(crate) enum EndCause {
    Disconnected,
    Broken,
    /// The consumer of the peer rejected the request, with private data.
    Rejected(Vec<u8>),
    /// The provider of either side refused the request.
    Refused(RefusalCause),
}

/// The end of a connection that is still to be carried out.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) cause: EndCause,
    /// The reason to send to the peer.
    pub(crate) reason: Option<Reason>,
}

/// The content of the event of an established connection.
pub(crate) struct Established {
    pub(crate) private_data: Vec<u8>,
    pub(crate) peer: Peer,
    pub(crate) local_port: u64,
}

/// An established connection, or one in its handshake.
pub(crate) struct Protocol {
    pub(crate) stage: Stage,
    /// The handshake of the active side, until the answer.
    pub(super) handshake: Option<Box<Active>>,
    /// The peer, and the local port.
    pub(super) ends: (Peer, u64),
    pub(crate) outbound: Outbound,
    pub(crate) inbound: Inbound,
    pub(crate) counts: Counts,
    pub(crate) ack_delay: AckDelay,
    pub(crate) credit_delay: CreditDelay,
    pub(crate) replies: ReplyHistory,
    pub(super) receive_wait: ReceiveWait,
    /// Reused memory for the spans of a frame.
    pub(super) spans: Vec<Span>,
    /// True if a post may write its request without further checks. The queue pair decides that; a frame that is not
    /// sent revokes it.
    pub(crate) writes_at_once: bool,
    /// The last read found only messages and acknowledgements.
    pub(crate) has_read_plain: bool,
    /// The connection was established, which is still to be reported.
    pub(crate) established: Option<Established>,
    pub(crate) ending: Option<Ending>,
    /// The peer or the link has caused the end, and no request of this side.
    pub(crate) has_lost_peer: bool,
    /// Maximum payload of a frame that begins a request, in bytes.
    pub(crate) max_first_piece: u64,
    /// The memory that the peer may access directly.
    pub(crate) grant: Option<Grant>,
}

impl Protocol {
    /// The protocol over a new link; `posted` is the number of receives that the handshake reports.
    pub(crate) fn new(
        stage: Stage,
        ends: (Peer, u64),
        posted: u32,
        (can_hold, can_offer): (bool, bool),
        max_first_piece: u64,
    ) -> Self {
        Self {
            stage,
            max_first_piece,
            handshake: None,
            ends,
            outbound: Outbound::new(can_offer),
            inbound: Inbound::default(),
            counts: Counts::new(posted),
            ack_delay: AckDelay::new(can_hold),
            credit_delay: CreditDelay::default(),
            replies: ReplyHistory::default(),
            receive_wait: ReceiveWait::default(),
            spans: Vec::new(),
            writes_at_once: false,
            has_read_plain: false,
            established: None,
            ending: None,
            has_lost_peer: false,
            grant: None,
        }
    }

    /// The connection is an unreliable one.
    pub(crate) fn set_unreliable(&mut self) {
        let outbound = &mut self.outbound;
        (outbound.is_unreliable, outbound.can_offer, outbound.peer_uses_srq) = (true, false, false);
    }

    /// Returns true if the connection is an unreliable one.
    pub(crate) const fn is_unreliable(&self) -> bool {
        self.outbound.is_unreliable
    }

    /// Begins the handshake of the active side.
    pub(crate) fn begin_handshake(
        &mut self,
        active: Active,
        hello: &Message,
        out: &mut impl Transmit,
    ) {
        self.handshake = Some(Box::new(active));
        self.send_handshake(hello, out);
    }

    /// The connection is established: the peer may send requests, and access memory directly.
    pub(super) fn open(
        &mut self,
        out: &mut impl Transmit,
        queues: &WorkQueues,
        private_data: Vec<u8>,
    ) {
        self.stage = Stage::Open;
        let gate = out.writer().gate(queues.domain, queues.number);
        self.grant = gate.map(|gate| direct::grant(queues.domain, gate, queues.denied()));
        let (peer, local_port) = self.ends;
        self.established = Some(Established { private_data, peer, local_port });
    }

    /// Returns true if the connection is established.
    pub(crate) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    /// Returns true if a request can be written as soon as it is posted, if the link has space.
    pub(crate) fn is_unobstructed(&self) -> bool {
        self.is_open()
            && self.ending.is_none()
            && self.outbound.is_unobstructed()
            && self.inbound.is_unobstructed()
    }

    /// Ends the connection, unless it is already ending.
    pub(crate) fn end(&mut self, cause: EndCause, reason: Option<Reason>) {
        self.ending.get_or_insert(Ending { cause, reason });
    }

    /// Ends the connection because a request of the peer has failed.
    pub(crate) fn end_failed(&mut self) {
        let reason = self.inbound.failure.take();
        self.end(EndCause::Broken, reason);
    }

    /// A read found the end of the link; `is_peer_lost` says that a write has found the peer lost before.
    #[cold]
    pub(crate) fn note_read_end(&mut self, end: &End, is_peer_lost: bool) {
        self.has_lost_peer |= !self.inbound.has_failed();
        match end {
            _ if self.inbound.has_failed() => {}
            End::Closed | End::Gone if !is_peer_lost => self.end(EndCause::Disconnected, None),
            End::Closed | End::Gone | End::Lost(_) | End::Stuck(_) => {
                self.end(EndCause::Broken, None)
            }
            End::Malformed(_) | End::Refused | End::Inaccessible => {
                let reason = Reason::Broken { request: 0, status: DtoStatus::Flushed };
                self.end(EndCause::Broken, Some(reason));
            }
        }
    }

    /// The peer ends the connection.
    pub(super) fn note_end(&mut self, reason: Reason) {
        let by_request = |status| status != DtoStatus::Flushed;
        let is_own = matches!(reason, Reason::Broken { status, .. } if by_request(status));
        self.has_lost_peer |= !is_own;
    }

    /// Writes a message of the handshake. A new link has space for it; if it had none, the handshake
    /// of the peer would time out.
    pub(crate) fn send_handshake(&mut self, message: &Message, out: &mut impl Transmit) {
        let _ = self.write(message.frame.body, &[bytes::source(&message.payload)], out);
    }

    /// The last frame, with the reason of the end.
    pub(crate) fn last_frame(&self, reason: Reason) -> Frame {
        self.frame(Body::End { reason })
    }

    /// Number of requests of the peer whose execution was not reported, answered or not.
    #[inline]
    pub(crate) const fn unreported(&self) -> u32 {
        self.inbound.executed.wrapping_sub(self.counts.reported_executed)
    }

    /// Returns true if requests were executed that the peer has not been notified of.
    #[inline]
    pub(crate) fn owes_acknowledgement(&self) -> bool {
        self.is_open()
            && self.ending.is_none()
            && self.counts.reported_executed != self.inbound.done()
    }

    /// Returns true if requests were executed for whose acknowledgement the peer waits.
    #[inline]
    pub(crate) const fn owes_urgently(&self) -> bool {
        let urgent = self.inbound.executed_urgent.wrapping_sub(self.counts.reported_executed);
        urgent as i32 > 0
    }

    /// The driver executed requests of the peer. Returns whether their acknowledgement may wait for the reply of the
    /// consumer: it usually replies, or the peer does not wait.
    pub(crate) fn note_driver_requests(&mut self) -> bool {
        let replies = self.replies.note_requests(self.outbound.sends.next_sequence());
        replies || !self.owes_urgently()
    }

    /// Returns true if the driver leaves the acknowledgement to a reply.
    pub(crate) fn awaits_reply(&self) -> bool {
        self.replies.is_awaited && (self.replies.are_usual() || !self.owes_urgently())
    }

    /// A poll executed `requests` of the peer, and `owed` ones are not acknowledged. Returns whether to acknowledge them
    /// now. The answer of the consumer may do that if polls follow in any case (`is_lent`) and the peer does not wait, or
    /// if the consumer polls for requests of its own (`is_borrowed`) and usually answers.
    #[inline]
    pub(crate) fn note_requests(
        &mut self,
        requests: u32,
        owed: u32,
        (is_lent, is_borrowed): (bool, bool),
    ) -> bool {
        let awaited_reply = self.ack_delay.awaits_reply();
        // While requests arrive, an acknowledgement for which the peer does not wait would only cost a frame.
        let is_due =
            self.ack_delay.is_due(requests != 0, owed) && (requests == 0 || self.owes_urgently());
        if requests != 0 && is_lent {
            let replies =
                is_borrowed && self.replies.note_requests(self.outbound.sends.next_sequence());
            if replies || !self.owes_urgently() {
                self.ack_delay.await_reply();
            }
        } else if is_due && owed != 0 && awaited_reply {
            self.replies.note_silence();
        }
        is_due
    }

    /// Sends an acknowledgement if the peer may wait for one: if it should get credits, or if requests were executed.
    /// The latter may wait for the next frame (`may_wait`).
    pub(crate) fn acknowledge(&mut self, may_wait: bool, out: &mut impl Transmit) {
        let is_due = self.owes_acknowledgement() && !may_wait;
        let owes_credits = self.counts.owes_credits() && self.is_open() && self.ending.is_none();
        if is_due || owes_credits {
            let _ = self.write(Body::Ack, &[], out);
        }
    }

    /// Writes a frame. Returns whether the link took it.
    pub(crate) fn write(&mut self, body: Body, payload: &[Span], out: &mut impl Transmit) -> bool {
        self.write_frame(&self.frame(body), payload, out)
    }

    /// As [`write`](Self::write), with a frame whose counts are those of now.
    pub(crate) fn write_frame(
        &mut self,
        frame: &Frame,
        payload: &[Span],
        out: &mut impl Transmit,
    ) -> bool {
        self.try_write(frame, payload, out) == Ok(true)
    }

    /// As [`write_frame`](Self::write_frame), with an error if the payload is not readable.
    pub(super) fn try_write(
        &mut self,
        frame: &Frame,
        payload: &[Span],
        out: &mut impl Transmit,
    ) -> Result<bool, Unreadable> {
        let request = self.request_frame(frame);
        let sent = out.write(frame, payload, request);
        let is_taken = self.note_sent(sent, (frame.done, frame.posted));
        if sent == Sent::Unreadable { Err(Unreadable) } else { Ok(is_taken) }
    }

    fn request_frame(&self, frame: &Frame) -> Option<RequestFrame> {
        let sends = &self.outbound.sends;
        matches!(frame.body, Body::Send { .. } | Body::Write { .. }).then(|| RequestFrame {
            number: sends.next_sequence(),
            has_earlier: sends.has_in_flight(),
        })
    }

    /// A frame with the counts that the peer must know.
    pub(crate) fn frame(&self, body: Body) -> Frame {
        Frame { done: self.inbound.done(), posted: self.counts.posted, ..Frame::new(body) }
    }

    /// Writes a message of one span, while `writes_at_once` holds and the link cannot hold frames. Returns
    /// whether the link took it.
    #[inline]
    pub(crate) fn write_message(
        &mut self,
        length: u64,
        solicited: bool,
        payload: Span,
        out: &mut impl Transmit,
    ) -> bool {
        // There are no answers to write, so all that was executed is done.
        let (done, posted) = (self.inbound.executed, self.counts.posted);
        let sent = out.write_message(&MessageHead { length, solicited, done, posted }, payload);
        self.note_sent(sent, (done, posted))
    }

    /// Sends an acknowledgement, while `writes_at_once` holds. Returns whether the link took and sent it.
    pub(crate) fn write_ack(&mut self, out: &mut impl Transmit) -> bool {
        let (done, posted) = (self.inbound.executed, self.counts.posted);
        let sent = out.write_ack(&AckHead { done, posted });
        self.note_sent(sent, (done, posted)) && !out.has_unsent()
    }

    /// Notes what became of a frame with these counts. Returns whether the link took it.
    #[inline(always)]
    fn note_sent(&mut self, sent: Sent, counts: (u32, u32)) -> bool {
        if sent == Sent::Taken {
            (self.counts.reported_executed, self.counts.reported_posted) = counts;
            return true;
        }
        self.note_not_sent(sent);
        false
    }

    #[cold]
    fn note_not_sent(&mut self, sent: Sent) {
        self.writes_at_once = false;
        if sent == Sent::Lost {
            self.has_lost_peer = true;
            self.end(EndCause::Broken, None);
        }
    }

    /// Sends the frames that the link has copied.
    pub(crate) fn flush(&mut self, out: &mut impl Transmit) {
        let sent = out.flush();
        if sent != Sent::Taken {
            self.note_not_sent(sent);
        }
    }

    /// Writes a frame with the collected spans as its payload. Returns whether the link took it.
    pub(super) fn write_spans(
        &mut self,
        frame: &Frame,
        out: &mut impl Transmit,
    ) -> Result<bool, Unreadable> {
        let spans = std::mem::take(&mut self.spans);
        let written = self.try_write(frame, &spans, out);
        self.spans = spans;
        written
    }

    /// Writes a frame with `length` bytes of checked memory as its payload. Returns whether the memory is
    /// valid and the link took the frame.
    #[inline(never)]
    pub(crate) fn write_segments(
        &mut self,
        frame: &Frame,
        (local, checked): (LocalMemory<'_>, (u64, &Epochs)),
        length: u64,
        out: &mut impl Transmit,
    ) -> bool {
        self.spans.clear();
        let spans = &mut self.spans;
        transfer::checked_local_spans(local, checked, Privileges::LOCAL_READ, (0, length), spans)
            && self.write_spans(frame, out) == Ok(true)
    }
}
