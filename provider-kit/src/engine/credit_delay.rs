//! When a new receive is reported to a peer that has no credits left.
//!
//! A report of its own costs a frame. A server with one receive ahead posts it again just before it replies,
//! and the reply can carry the report. So the report waits if the consumer posted a request right after its
//! last such receive; the next poll sends it, or the thread if the consumer makes no more calls. If polls
//! do not read the link each time, it never waits.

/// The habit of the consumer.
#[derive(Debug, Default)]
pub(super) struct CreditDelay {
    /// A receive was posted for a peer without credits, and neither a request nor a poll has followed.
    is_open: bool,
    /// Whether a request followed the last such receive before a poll.
    replies: bool,
}

impl CreditDelay {
    /// A receive was posted for a peer without credits. Returns whether the report may wait.
    pub(super) fn may_wait(&mut self) -> bool {
        self.is_open = true;
        self.replies
    }

    /// The consumer has posted a request.
    #[inline]
    pub(super) fn note_request(&mut self) {
        if self.is_open {
            *self = Self { is_open: false, replies: true };
        }
    }

    /// The consumer polls.
    #[inline]
    pub(super) fn note_poll(&mut self) {
        if self.is_open {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_waits_while_the_consumer_replies_to_each_message() {
        let mut delay = CreditDelay::default();
        assert!(!delay.may_wait(), "nothing is known yet");
        for _ in 0..3 {
            delay.note_request();
            delay.note_poll();
            assert!(delay.may_wait());
        }
        delay.note_poll();
        assert!(!delay.may_wait(), "the consumer did not reply");
    }
}
