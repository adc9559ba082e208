//! An established connection, or one in its handshake: the link and the state of both directions.
//!
//! Both sides count in sequence numbers modulo 2^32: the requests that they executed, and the
//! receives that they posted. Each frame carries the current counts of its sender.

use std::collections::VecDeque;

use dat_provider::mem::Span;
use dat_provider::{Peer, RefusalCause};
use rustix::event::epoll::EventFlags;

use super::ack_delay::AckDelay;
use super::coalescing::Coalescing;
use super::credit_delay::CreditDelay;
use super::fetch::OfferAnswer;
use super::inbound::{CurrentFrame, InboundRequest, PendingAnswer, Unexpected};
use super::lease_history::LeaseHistory;
use super::receive_queue::TakenReceive;
use super::reply_history::ReplyHistory;
use super::send_queue::SendQueue;
use super::work_queues::WorkQueues;
use crate::direct::{self, Grant};
use crate::frame::Reason;
use crate::handshake::{Active, SideInfo};
use crate::link::{Armed, Reader, Writer};
use crate::polled_links::Signal;

/// Maximum length, in bytes, of a message that is sent to a shared receive queue without a
/// rendezvous (`RTS`, `CTS`).
pub(super) const MAX_EAGER: u64 = 4096;
/// Maximum number of such messages that the peer has not acknowledged.
pub(super) const MAX_EAGER_IN_FLIGHT: usize = 16;

/// How far a connection is established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Active side: waits for `ANSWER`.
    AwaitAnswer,
    /// Passive side: waits for `READY`.
    AwaitReady,
    /// Established.
    Open,
}

/// Why a connection ends.
#[derive(Debug)]
pub(super) enum EndCause {
    Disconnected,
    Broken,
    /// The consumer of the peer rejected the request, with private data.
    Rejected(Vec<u8>),
    /// The provider of either side refused the request.
    Refused(RefusalCause),
}

/// The end of a connection that is still to be carried out.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) cause: EndCause,
    /// The reason to send to the peer.
    pub(super) reason: Option<Reason>,
}

/// The content of the event of an established connection.
pub(super) struct Established {
    pub(super) private_data: Vec<u8>,
    pub(super) peer: Peer,
    pub(super) local_port: u64,
}

/// A connection.
pub(super) struct Connection {
    pub(super) stage: Stage,
    /// The handshake of the active side, until the answer.
    pub(super) handshake: Option<Box<Active>>,
    /// Absent while it is being read.
    pub(super) reader: Option<Box<dyn Reader>>,
    pub(super) writer: Box<dyn Writer>,
    /// Identifies the link to the driver.
    pub(super) token: u64,
    pub(super) peer: Peer,
    pub(super) local_port: u64,

    /// Whether the peer takes its receives from a shared receive queue.
    pub(super) peer_uses_srq: bool,
    /// Maximum number of reads and atomics that the peer executes at once.
    pub(super) max_reads: u32,
    /// Sequence numbers of the eager messages that the peer has not acknowledged.
    pub(super) unacked_eager: VecDeque<u32>,
    /// Posted requests that are not complete.
    pub(super) sends: SendQueue,
    /// Number of receives that the peer has posted.
    pub(super) peer_posted: u32,
    /// Number of receives of the peer that sent messages consume.
    pub(super) peer_receives_used: u32,
    /// `RTS` was sent for the next message.
    pub(super) rts_sent: bool,
    /// The peer has granted it.
    pub(super) cts_received: bool,
    /// Number of messages in a row that were offered and not fetched.
    pub(super) unfetched_offers: u8,
    /// Whether long messages may be offered.
    pub(super) can_offer: bool,

    /// Number of requests of the peer that were executed.
    pub(super) executed: u32,
    /// The answer to an offer, for which the peer waits.
    pub(super) offer_answer: Option<OfferAnswer>,
    /// The last value of [`done`](Self::done) that was sent.
    pub(super) reported_executed: u32,
    /// When a poll reports it.
    pub(super) ack_delay: AckDelay,
    pub(super) credit_delay: CreditDelay,
    /// Number of receives that were posted.
    pub(super) posted: u32,
    /// The last value of `posted` that was sent.
    pub(super) reported_posted: u32,
    /// Number of receives that messages of the peer have consumed.
    pub(super) receives_taken: u32,
    /// The message or RDMA write whose payload is arriving.
    pub(super) inbound: Option<InboundRequest>,
    pub(super) current: CurrentFrame,
    /// Answers that the peer waits for, the oldest first.
    pub(super) answers: VecDeque<PendingAnswer>,
    /// The peer has sent `RTS` and waits for `CTS`.
    pub(super) rts_received: bool,
    /// The receive that was taken for its message.
    pub(super) rts_receive: Option<TakenReceive>,
    /// Eager messages that wait for a buffer of the shared receive queue.
    pub(super) unexpected: VecDeque<Unexpected>,
    /// A request of the peer failed. This ends the connection once earlier requests are answered.
    pub(super) peer_failure: Option<Reason>,

    /// Reused memory for the spans of a frame.
    pub(super) spans: Vec<Span>,
    /// Whether a post may write its request to the link without further checks.
    pub(super) writes_at_once: bool,
    /// The link is full.
    pub(super) is_write_blocked: bool,
    /// The link holds bytes of written frames that it could not send yet.
    pub(super) has_backlog: bool,
    /// Nothing can be written to the link any more.
    pub(super) is_write_closed: bool,
    /// A write has found that the peer cannot be reached.
    pub(super) is_peer_lost: bool,
    /// The program has closed the descriptor of the link.
    pub(super) has_lost_descriptor: bool,
    /// The last read left received frames behind, for which the descriptor may not become readable.
    pub(super) has_unread: bool,
    /// The last read found only messages and acknowledgements.
    pub(super) has_read_plain: bool,
    /// Whether the driver will read the link without an event of its descriptor.
    pub(super) is_queued: bool,
    /// The events that the driver waits for, once it watches the link.
    pub(super) interest_set: Option<EventFlags>,
    /// The event of the descriptor that reports space for writing.
    pub(super) space_event: EventFlags,
    /// What the reader of the link waits for, as the link knows it.
    pub(super) armed: Armed,
    /// How pollers learn that data has arrived, once one has asked.
    pub(super) signal: Option<Signal>,
    /// Whether every poll of each completion queue reads the link.
    pub(super) hot: [bool; 2],
    /// Whether the link can hold frames, and which it holds.
    pub(super) can_hold: bool,
    pub(super) coalescing: Coalescing,
    /// Whether pollers read the link.
    pub(super) is_lent: bool,
    /// The activity at the last check, and number of checks since it changed.
    pub(super) activity_seen: u32,
    pub(super) idle_checks: u8,
    /// How often the completion queues had been polled at the last check.
    pub(super) polls_seen: u64,
    /// Reads of pollers since the driver last read the link: those that found nothing, and 128 for each
    /// that found a frame.
    pub(super) poller_reads: u32,
    /// Pauses lending after the peer had to wait for a poll.
    pub(super) leases: LeaseHistory,
    pub(super) replies: ReplyHistory,
    /// The connection was established, which is still to be reported.
    pub(super) established: Option<Established>,
    pub(super) ending: Option<Ending>,
    /// What the peer may access directly.
    pub(super) grant: Option<Grant>,
}

impl Connection {
    /// A connection over a new link; `posted` is the number of receives that the handshake reports. Not inlined, so that
    /// the frames of callers do not hold it: consumers have threads with small stacks.
    #[inline(never)]
    pub(super) fn new(
        stage: Stage,
        (reader, writer): (Box<dyn Reader>, Box<dyn Writer>),
        token: u64,
        (peer, local_port): (Peer, u64),
        posted: u32,
    ) -> Box<Self> {
        let space_event =
            if reader.is_readable_for_room() { EventFlags::IN } else { EventFlags::OUT };
        let can_hold = writer.can_hold();
        let can_offer = writer.can_offer();
        Box::new(Self {
            stage,
            handshake: None,
            reader: Some(reader),
            writer,
            token,
            peer,
            local_port,
            peer_uses_srq: false,
            max_reads: 1,
            unacked_eager: VecDeque::new(),
            sends: SendQueue::default(),
            peer_posted: 0,
            peer_receives_used: 0,
            rts_sent: false,
            cts_received: false,
            unfetched_offers: 0,
            can_offer,
            executed: 0,
            offer_answer: None,
            reported_executed: 0,
            ack_delay: AckDelay::new(can_hold),
            credit_delay: CreditDelay::default(),
            posted,
            reported_posted: posted,
            receives_taken: 0,
            inbound: None,
            current: CurrentFrame::Empty,
            answers: VecDeque::new(),
            rts_received: false,
            rts_receive: None,
            unexpected: VecDeque::new(),
            spans: Vec::new(),
            writes_at_once: false,
            is_write_blocked: false,
            has_backlog: false,
            peer_failure: None,
            has_unread: false,
            has_read_plain: false,
            is_write_closed: false,
            is_peer_lost: false,
            has_lost_descriptor: false,
            is_queued: false,
            interest_set: None,
            space_event,
            armed: Armed::Descriptor,
            signal: None,
            hot: [false; 2],
            can_hold,
            coalescing: Coalescing::default(),
            is_lent: false,
            activity_seen: 0,
            idle_checks: 0,
            polls_seen: 0,
            poller_reads: 0,
            leases: LeaseHistory::default(),
            replies: ReplyHistory::default(),
            established: None,
            ending: None,
            grant: None,
        })
    }

    /// Applies what the handshake says about the peer.
    pub(super) fn apply_peer_info(&mut self, side: &SideInfo) {
        self.peer_uses_srq = side.is_shared;
        self.max_reads = side.reads.max(1);
        self.peer_posted = side.posted;
    }

    /// Applies the counts in a frame of the peer. Returns false if they are impossible: a count went
    /// back, or requests were executed that were not sent.
    #[inline]
    pub(super) fn apply_counts(&mut self, done: u32, posted: u32) -> bool {
        let is_possible =
            (posted.wrapping_sub(self.peer_posted) as i32) >= 0 && self.sends.set_executed(done);
        if is_possible {
            self.peer_posted = posted;
            let is_acked = |sequence: &u32| done.wrapping_sub(*sequence) as i32 > 0;
            while self.unacked_eager.front().is_some_and(is_acked) {
                self.unacked_eager.pop_front();
            }
        }
        is_possible
    }

    /// The connection is established: the peer may send requests, and access memory directly.
    pub(super) fn open(&mut self, queues: &WorkQueues) {
        self.stage = Stage::Open;
        // Polls before this connection do not say that its link would be polled.
        self.polls_seen = queues.polls();
        let gate = self.writer.gate(queues.domain, queues.number);
        self.grant = gate.map(|gate| direct::grant(queues.domain, gate));
    }

    /// Whether the connection is established.
    pub(super) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    /// Ends the connection, unless it is already ending.
    pub(super) fn end(&mut self, cause: EndCause, reason: Option<Reason>) {
        self.ending.get_or_insert(Ending { cause, reason });
    }
}
