//! The protocol of a connection, without I/O: frames of the peer and posted requests go in; frames, completions and
//! the end of the connection come out.
//!
//! A [`Protocol`] has no lock, no descriptor and no clock. It writes its frames to a [`Transmit`], and its [`Receiver`]
//! takes the frames of the peer. The caller passes the [`WorkQueues`] to both.
//!
//! Both sides count in sequence numbers modulo 2^32: the requests that they executed, and the receives that they
//! posted. Each frame carries the current [counts](counts::Counts) of its sender.
//!
//! # Modules
//! - `state`: what the rest works on, with `outbound` (requests to the peer), `inbound` (its requests) and `counts`.
//! - `requester`: requests to the peer, with `send_queue` and `request`, `offers` (long messages, which the peer
//!   fetches) and `direct_access` (requests without the peer).
//! - `oldest_request`: what operators see of the requests.
//! - `receiver`: the frames of the peer, with `execute` (its requests); `responder`: answers to it.
//! - `receive_wait`: requests that wait for a receive of the peer for a limited time.
//! - `counts`, `ack_delay`, `credit_delay` and `reply_history`: when the peer receives the counts of this side.
//! - `datagram`: the packets of queue pairs without a connection.

mod ack_delay;
mod counts;
mod credit_delay;
pub(crate) mod datagram;
mod direct_access;
mod execute;
mod inbound;
mod offers;
mod oldest_request;
mod outbound;
mod receive_wait;
mod receiver;
mod reply_history;
mod request;
mod requester;
mod responder;
mod send_queue;
mod state;
#[cfg(all(test, not(loom), not(miri)))]
mod tests;
mod transmit;

use crate::upcalls::Upcalls;
use crate::work_queues::WorkQueues;

pub(crate) use oldest_request::OldestRequest;
use outbound::Outbound;
pub(crate) use receiver::Receiver;
pub(crate) use reply_history::REPLY_PATIENCE;
pub(crate) use request::PostedRequest;
pub(crate) use send_queue::SendQueue;
pub(crate) use state::{EndCause, Ending, Established, Protocol, Stage};
pub(crate) use transmit::{RequestFrame, Sent, Transmit};

impl Protocol {
    /// Writes what the link takes, and completes the requests that the peer has executed.
    pub(crate) fn progress(
        &mut self,
        out: &mut impl Transmit,
        queues: &mut WorkQueues,
        upcalls: &mut Upcalls,
    ) {
        self.outbound.left_bytes = 0;
        if out.has_unsent() {
            self.flush(out);
        }
        if self.is_open() {
            self.serve_srq(out, queues, upcalls);
            self.withdraw_message(out);
            self.answer_offer(out);
            while self.ending.is_none() {
                if self.inbound.is_failure_due(out.is_closed()) {
                    return self.end_failed();
                }
                self.complete(queues, upcalls);
                if self.ending.is_some() {
                    return;
                }
                let has_failed = self.inbound.has_failed();
                let has_written = self.write_answer(out, queues)
                    || !has_failed && self.write_request(out, queues);
                if !has_written {
                    break;
                }
            }
        }
        if out.is_holding() {
            self.flush(out);
        }
    }
}
