//! When new receives are reported to a peer that has no credits left.
//!
//! A report of its own costs a frame. A server with one receive ahead posts it again just before it replies,
//! and the reply can carry the report. A consumer with few receives ahead takes several messages, and posts
//! a receive again after each; one frame can report them all. So the report waits if the consumer posted a
//! request or another receive right after its last such receive; the next poll sends it, or the thread if the
//! consumer makes no more calls. If polls do not read the link each time, it never waits.

/// The habit of the consumer.
#[derive(Debug, Default)]
pub(crate) struct CreditDelay {
    /// Number of receives that were posted since a peer lacked credits, without a request or a poll after
    /// them.
    posted: u32,
    /// True if something followed the last such receive that could carry or share the report.
    is_followed: bool,
}

impl CreditDelay {
    /// A receive is posted. Returns whether its report may wait.
    #[inline]
    pub(crate) fn may_wait(&mut self, peer_has_credits: bool) -> bool {
        if self.posted > 0 || !peer_has_credits {
            self.posted += 1;
        }
        peer_has_credits || self.is_followed
    }

    /// The consumer has posted a request.
    #[inline]
    pub(crate) fn note_request(&mut self) {
        if self.posted > 0 {
            *self = Self { posted: 0, is_followed: true };
        }
    }

    /// Returns true if the next poll or request tells what follows a receive.
    #[inline]
    pub(crate) fn is_counting(&self) -> bool {
        self.posted > 0
    }

    /// The consumer polls, and found no completion before.
    #[inline]
    pub(crate) fn note_poll(&mut self) {
        if self.posted > 0 {
            *self = Self { posted: 0, is_followed: self.posted > 1 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_waits_while_the_consumer_replies_to_each_message() {
        let mut delay = CreditDelay::default();
        assert!(!delay.may_wait(false), "nothing is known yet");
        for _ in 0..3 {
            delay.note_request();
            delay.note_poll();
            assert!(delay.may_wait(false));
        }
        delay.note_poll();
        assert!(!delay.may_wait(false), "the consumer did not reply");
    }

    #[test]
    fn a_report_waits_while_the_consumer_posts_several_receives() {
        let mut delay = CreditDelay::default();
        assert!(delay.may_wait(true), "the peer knows of others");
        assert!(!delay.may_wait(false), "nothing is known yet");
        assert!(delay.may_wait(true));
        delay.note_poll();
        for _ in 0..2 {
            assert!(delay.may_wait(false));
            assert!(delay.may_wait(false));
            delay.note_poll();
        }
        delay.may_wait(false);
        delay.note_poll();
        assert!(!delay.may_wait(false), "the consumer posted only one");
    }
}
