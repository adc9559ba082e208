//! The requests to the peer, and what limits them.

use std::collections::VecDeque;

use super::send_queue::SendQueue;
use crate::handshake::ConnectionParameters;

/// Maximum length, in bytes, of a message that is sent to a shared receive queue without a
/// rendezvous (`RTS`, `CTS`).
pub(super) const MAX_EAGER: u64 = 4096;
/// Maximum number of such messages that the peer has not acknowledged.
pub(super) const MAX_EAGER_IN_FLIGHT: usize = 16;
/// After this many messages in a row that the peer did not fetch, the connection offers none.
const MAX_UNFETCHED: u8 = 8;

/// The rendezvous for the next message, if the peer takes its receives from a shared receive queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rendezvous {
    None,
    /// `RTS` was sent.
    Announced,
    /// The peer has granted the message with `CTS`.
    Granted,
}

/// The wait of a request for a receive of the peer, if its time is limited. Requests have their sequence numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReceiveWait {
    /// No wait has begun.
    #[default]
    Nothing,
    /// This request waits, which is to be reported.
    Begun(u32),
    /// The wait of this request was reported.
    Reported(u32),
    /// This request waits no more. It is to be withdrawn from a peer that shares its receives.
    Expired(u32),
}

/// The requests to the peer, and what limits them.
pub(crate) struct Outbound {
    /// Posted requests that are not complete.
    pub(crate) sends: SendQueue,
    /// Length in bytes of the requests that posts have left to the next call that makes progress.
    pub(super) left_bytes: u64,
    /// True if the peer takes its receives from a shared receive queue.
    pub(super) peer_uses_srq: bool,
    /// Maximum number of reads and atomics that the peer executes at once.
    pub(super) max_reads: u32,
    /// Number of receives that the peer has posted.
    pub(super) peer_posted: u32,
    /// Number of receives of the peer that sent messages consume.
    pub(super) peer_receives_used: u32,
    /// Sequence numbers of the eager messages that the peer has not acknowledged.
    pub(super) unacked_eager: VecDeque<u32>,
    /// The latest message for which the peer has said that it has no receive to share.
    pub(super) stalled: Option<u32>,
    pub(super) rendezvous: Rendezvous,
    /// Number of messages in a row that were offered and not fetched.
    unfetched_offers: u8,
    /// The peer drops what it cannot execute: requests need no receive, and end once they are written.
    pub(super) is_unreliable: bool,
    /// True if long messages may be offered.
    pub(crate) can_offer: bool,
    /// A request has ended with an error on this side, so that those after it are flushed.
    pub(super) has_failed: bool,
}

impl Outbound {
    pub(super) fn new(can_offer: bool) -> Self {
        Self {
            sends: SendQueue::default(),
            left_bytes: 0,
            peer_uses_srq: false,
            max_reads: 1,
            peer_posted: 0,
            peer_receives_used: 0,
            unacked_eager: VecDeque::new(),
            stalled: None,
            rendezvous: Rendezvous::None,
            unfetched_offers: 0,
            is_unreliable: false,
            can_offer,
            has_failed: false,
        }
    }

    /// Applies what the handshake says about the peer.
    pub(crate) fn apply_peer_info(&mut self, side: &ConnectionParameters) {
        self.peer_uses_srq = side.is_shared && !self.is_unreliable;
        self.max_reads = side.reads.max(1);
        self.peer_posted = side.posted;
    }

    /// Applies the counts in a frame of the peer. Returns false if they are impossible: a count went
    /// back, or requests were executed that were not sent. Over an unreliable connection they mean nothing.
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
            return true;
        }
        self.is_unreliable
    }

    /// Returns true if a request may be written at once, and left in flight.
    pub(super) fn is_unobstructed(&self) -> bool {
        !self.is_unreliable
            && self.sends.waiting.is_empty()
            && self.unacked_eager.is_empty()
            && !self.peer_uses_srq
    }

    /// Returns true if the peer has reported a receive for another message. It may have fewer than were used,
    /// because a request that waits no more is sent without one.
    #[inline]
    pub(crate) fn has_credit(&self) -> bool {
        self.peer_posted.wrapping_sub(self.peer_receives_used) as i32 > 0
    }

    /// A message is sent that consumes a receive of the peer.
    #[inline]
    pub(crate) fn use_credit(&mut self) {
        self.peer_receives_used = self.peer_receives_used.wrapping_add(1);
    }

    /// The peer grants the message that `RTS` has announced. Returns false if none was.
    pub(super) fn grant(&mut self) -> bool {
        let is_announced = self.rendezvous == Rendezvous::Announced;
        if is_announced {
            self.rendezvous = Rendezvous::Granted;
        }
        is_announced
    }

    /// The peer has executed the message that it was offered.
    pub(super) fn note_fetched(&mut self) {
        self.unfetched_offers = 0;
    }

    /// The peer has not fetched the message that it was offered. Returns false if there is none.
    #[cold]
    #[inline(never)]
    pub(super) fn withdraw_offer(&mut self) -> bool {
        let has_offered = self.sends.withdraw_offer();
        self.unfetched_offers += u8::from(has_offered);
        self.can_offer &= self.unfetched_offers < MAX_UNFETCHED;
        has_offered
    }

    /// The first frame of a message that consumes a receive is sent.
    pub(super) fn note_begun(&mut self) {
        self.use_credit();
        self.rendezvous = Rendezvous::None;
    }
}
