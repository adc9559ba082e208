//! The requests of the peer: the one whose payload is arriving, and those that await their answer.

use std::collections::VecDeque;

use dat_provider::status::DtoStatus;
use dat_provider::triplet::RmrTriplet;
use dat_provider::verbs::BreakCause;

use crate::frame::{Extra, Frame, Reason};
use crate::work_queues::TakenReceive;

/// An answer that the peer waits for.
pub(crate) struct PendingAnswer {
    /// The sequence number of the request.
    pub(crate) number: u32,
    pub(crate) data: AnswerData,
}

/// The data of an answer.
pub(crate) enum AnswerData {
    /// A memory range, and the number of its bytes that were written to the link.
    Read(RmrTriplet, u64),
    /// The value that an atomic operation found.
    Word([u8; 8]),
}

/// A message or RDMA write whose payload is arriving.
pub(crate) struct InboundRequest {
    pub(crate) kind: InboundKind,
    /// Length in bytes.
    pub(crate) length: u64,
    /// Bytes in the frames before the current one.
    pub(crate) received: u64,
    /// True if its memory was deregistered, or became inaccessible, while it arrived.
    pub(crate) has_lost_memory: bool,
}

/// Where the payload of an inbound request goes.
pub(crate) enum InboundKind {
    Message {
        receive: TakenReceive,
        solicited: bool,
        extra: Extra,
    },
    Write {
        target: RmrTriplet,
        /// Immediate data, and whether the completion is solicited.
        immediate: Option<(u32, bool)>,
    },
    /// Nowhere: the request came over an unreliable connection and cannot be executed.
    Dropped,
}

/// An eager message that arrived when its shared receive queue had no buffer.
pub(crate) struct Unexpected {
    pub(crate) data: Vec<u8>,
    pub(crate) solicited: bool,
    pub(crate) extra: Extra,
}

/// The destination of the payload of the current frame. Lengths are in bytes.
pub(crate) enum CurrentFrame {
    /// No payload.
    Empty,
    /// A message in one frame, for the oldest receive of the queue pair. The receive is taken at the end
    /// of the frame.
    Message {
        length: u64,
        solicited: bool,
        /// As in [`InboundRequest`].
        has_lost_memory: bool,
    },
    /// A piece of this length of the inbound request.
    Request(u64),
    /// A piece of this length of the oldest outstanding answer; whether it is the last piece.
    Answer(u64, bool),
    /// A frame of the handshake.
    Handshake(Frame, Vec<u8>),
    /// The extents of an offered message, and their epoch.
    Offer(Vec<u8>, u64),
    /// A message without a receive.
    Unexpected(Unexpected),
}

/// The answer to an offer, before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfferAnswer {
    /// An acknowledgement: the message was fetched.
    Fetched,
    /// `CTS`: the peer has to send the message.
    NotFetched,
}

/// The rendezvous for a message of the peer, to a shared receive queue.
#[derive(Default)]
pub(super) enum Announced {
    #[default]
    Nothing,
    /// `RTS` has arrived.
    Waiting,
    /// A receive was taken for it, and `CTS` is to be sent.
    Reserved(TakenReceive),
    /// `CTS` was sent.
    Granted(TakenReceive),
}

/// The requests of the peer.
pub(crate) struct Inbound {
    /// Number of requests of the peer that were executed.
    pub(crate) executed: u32,
    /// The value of `executed` after the last one whose acknowledgement the peer waits for.
    pub(super) executed_urgent: u32,
    /// The peer does not wait for the acknowledgement of the request that is arriving.
    pub(super) is_quiet: bool,
    /// The message or RDMA write whose payload is arriving.
    pub(super) arriving: Option<InboundRequest>,
    pub(super) current: CurrentFrame,
    /// Answers that the peer waits for, the oldest first.
    pub(super) answers: VecDeque<PendingAnswer>,
    /// The answer to an offer, for which the peer waits.
    pub(super) offer_answer: Option<OfferAnswer>,
    pub(super) announced: Announced,
    /// Eager messages that wait for a buffer of the shared receive queue.
    pub(super) unexpected: VecDeque<Unexpected>,
    /// The peer knows that its oldest message waits for such a buffer.
    pub(super) is_stall_reported: bool,
    /// Number of requests that were dropped and not counted yet.
    pub(crate) dropped: u32,
    /// A request of the peer failed. This ends the connection once earlier requests are answered.
    pub(super) failure: Option<Reason>,
    /// Why this side has refused a request.
    pub(crate) refusal: Option<BreakCause>,
}

impl Default for Inbound {
    fn default() -> Self {
        Self {
            executed: 0,
            executed_urgent: 0,
            is_quiet: false,
            arriving: None,
            current: CurrentFrame::Empty,
            answers: VecDeque::new(),
            offer_answer: None,
            announced: Announced::Nothing,
            unexpected: VecDeque::new(),
            is_stall_reported: false,
            dropped: 0,
            failure: None,
            refusal: None,
        }
    }
}

impl Inbound {
    /// Number of requests of the peer that are executed and answered.
    #[inline]
    pub(crate) fn done(&self) -> u32 {
        self.answers.front().map_or(self.executed, |answer| answer.number)
    }

    /// A request is executed that needs no answer.
    #[inline]
    pub(super) fn note_executed(&mut self) {
        self.executed = self.executed.wrapping_add(1);
        if !std::mem::take(&mut self.is_quiet) {
            self.executed_urgent = self.executed;
        }
    }

    /// Returns true if a request failed, so that no more are executed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Returns true if a failure can end the connection: the earlier requests are answered, or cannot be.
    pub(super) fn is_failure_due(&self, is_closed: bool) -> bool {
        self.failure.is_some() && (self.answers.is_empty() || is_closed)
    }

    pub(super) fn is_unobstructed(&self) -> bool {
        self.answers.is_empty() && self.failure.is_none()
    }

    /// Returns true if a receive is held for an announced message.
    pub(crate) fn holds_receive(&self) -> bool {
        matches!(self.announced, Announced::Reserved(_) | Announced::Granted(_))
    }

    /// Takes the receive of an announced message.
    pub(super) fn take_announced(&mut self) -> Option<TakenReceive> {
        match std::mem::take(&mut self.announced) {
            Announced::Reserved(receive) | Announced::Granted(receive) => Some(receive),
            Announced::Nothing | Announced::Waiting => None,
        }
    }

    /// Takes the receive of the message that is arriving.
    pub(super) fn take_arriving(&mut self) -> Option<TakenReceive> {
        match self.arriving.take()?.kind {
            InboundKind::Message { receive, .. } => Some(receive),
            InboundKind::Write { .. } | InboundKind::Dropped => None,
        }
    }

    /// Records that the current request of the peer is refused, which breaks the connection.
    pub(super) fn refuse(&mut self, refusal: BreakCause) {
        let (request, status) = (self.executed, status_of(refusal));
        self.refusal.get_or_insert(refusal);
        self.failure.get_or_insert(Reason::Broken { request, status });
    }
}

/// The status with which a refused request completes at the peer.
const fn status_of(refusal: BreakCause) -> DtoStatus {
    match refusal {
        BreakCause::Access => DtoStatus::RemoteAccess,
        BreakCause::NoReceive => DtoStatus::ReceiverNotReady,
        _ => DtoStatus::RemoteResponder,
    }
}
