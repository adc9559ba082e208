//! The reason why the oldest request waits.

use super::outbound::Rendezvous;
use super::state::Protocol;
use super::{Outbound, SendQueue};
use crate::work_queues::WorkQueues;

/// The state of the oldest request that is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OldestRequest {
    /// Its message needs a receive of the peer.
    NoReceive,
    /// RDMA reads before it are not answered.
    BehindReads,
    /// It is not completely written to the link.
    Begun,
    /// The peer has to execute it.
    Unanswered,
}

impl Protocol {
    /// The state of the oldest request, if there is one.
    pub(crate) fn oldest_request(&self, queues: &WorkQueues) -> Option<OldestRequest> {
        let outbound = &self.outbound;
        if outbound.sends.has_in_flight() && outbound.sends.unanswered == 0 {
            return Some(OldestRequest::Unanswered);
        }
        let Some(waiting) = outbound.sends.waiting.front() else {
            return (!outbound.sends.is_empty()).then_some(OldestRequest::Unanswered);
        };
        if outbound.sends.has_in_flight() {
            let max_reads = || outbound.max_reads.min(queues.max_reads.1.max(1));
            return Some(if waiting.waits_for_reads(outbound.sends.unanswered, max_reads) {
                OldestRequest::BehindReads
            } else {
                OldestRequest::Unanswered
            });
        }
        let lacks_receive = if outbound.peer_uses_srq {
            outbound.rendezvous == Rendezvous::Announced
        } else {
            !outbound.is_unreliable && !outbound.has_credit()
        };
        let waits = !waiting.is_begun && waiting.consumes_receive() && lacks_receive;
        Some(if waits { OldestRequest::NoReceive } else { OldestRequest::Begun })
    }
}

impl Outbound {
    /// Number of messages for which the peer has receives; `None` if it takes them from a shared queue.
    pub(crate) fn credits(&self) -> Option<u32> {
        let credits = self.peer_posted.wrapping_sub(self.peer_receives_used) as i32;
        let credits = credits.max(0) as u32;
        (!self.peer_uses_srq && !self.is_unreliable).then_some(credits)
    }
}

impl SendQueue {
    /// A number that changes when the oldest request completes, or a part of it is written or answered, modulo 2^32.
    pub(crate) fn progress(&self) -> u32 {
        let written = self.waiting.front().map_or(0, |request| request.written);
        let part = written.wrapping_add(self.answered_part());
        // Parts have many bytes.
        self.first.wrapping_add(self.executed).wrapping_add((part >> 6) as u32)
    }
}
