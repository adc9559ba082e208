//! When the driver acknowledges the requests of the peer.
//!
//! An acknowledgement of its own is a frame for which the peer's driver wakes up. A consumer that answers each
//! request with one of its own acknowledges with that, so the driver leaves the acknowledgement to it for a
//! short time.

use std::time::Duration;

/// Number of requests of the peer in a row, each with a request of the consumer after it, that make an exchange.
const MIN_REPLIES: u8 = 8;
/// How long an acknowledgement waits for the consumer's next request.
pub(crate) const REPLY_PATIENCE: Duration = Duration::from_micros(50);

/// How the consumer has answered the requests that the driver executed.
#[derive(Debug, Default)]
pub(crate) struct ReplyHistory {
    /// Number of requests that the consumer had sent when the driver last executed one of the peer.
    sent: u32,
    /// Executions in a row since which the consumer sent a request.
    replies: u8,
    /// The driver will acknowledge what is not acknowledged [`REPLY_PATIENCE`] after the last request.
    pub(crate) is_awaited: bool,
    /// The driver has executed other requests since it last decided until when to wait.
    has_more: bool,
}

impl ReplyHistory {
    /// The driver executed requests of the peer; `sent` is the number of requests that were sent to it.
    /// Returns whether the acknowledgement may wait for a reply.
    pub(crate) fn note_requests(&mut self, sent: u32) -> bool {
        let has_replied = std::mem::replace(&mut self.sent, sent) != sent;
        self.replies = if has_replied { self.replies.saturating_add(1) } else { 0 };
        self.are_usual()
    }

    /// Returns true if the consumer has answered the last requests.
    pub(crate) const fn are_usual(&self) -> bool {
        self.replies >= MIN_REPLIES
    }

    /// The reply to what the driver has just executed is awaited. Returns whether none was.
    pub(crate) const fn await_reply(&mut self) -> bool {
        self.has_more = std::mem::replace(&mut self.is_awaited, true);
        !self.has_more
    }

    /// The time of the reply is over; `is_owed` says whether the acknowledgement is still to be sent. Returns whether to
    /// wait again: for the reply to requests that the driver has executed in the meantime.
    pub(crate) const fn waits_again(&mut self, is_owed: bool) -> bool {
        self.is_awaited = is_owed && std::mem::replace(&mut self.has_more, false);
        self.is_awaited
    }

    /// No reply came in time.
    pub(crate) fn note_silence(&mut self) {
        self.replies = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_consumer_that_answers_each_request_is_waited_for() {
        let mut history = ReplyHistory::default();
        for sent in 1..u32::from(MIN_REPLIES) {
            assert!(!history.note_requests(sent));
        }
        assert!(history.note_requests(100));
        assert!(!history.note_requests(100), "a request without a reply to the last one");
        for sent in 101..100 + u32::from(MIN_REPLIES) {
            assert!(!history.note_requests(sent));
        }
        assert!(history.note_requests(200));
        history.note_silence();
        assert!(!history.note_requests(201));
    }

    #[test]
    fn the_driver_waits_for_the_reply_to_the_last_request() {
        let mut history = ReplyHistory::default();
        assert!(history.await_reply());
        assert!(!history.waits_again(true), "no other request came");
        assert!(history.await_reply());
        assert!(!history.await_reply(), "one is awaited");
        assert!(history.waits_again(true));
        assert!(!history.waits_again(true));
        assert!(history.await_reply() && !history.await_reply());
        assert!(!history.waits_again(false), "a reply has acknowledged all of them");
        assert!(!history.is_awaited);
    }
}
