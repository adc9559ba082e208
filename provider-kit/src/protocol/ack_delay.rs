//! When a poller acknowledges the requests of the peer.
//!
//! An acknowledgement of its own costs a frame. In a stream of requests, one frame acknowledges several
//! of them. A peer that waits for each acknowledgement before it sends the next request gets it from the
//! first poll that finds nothing. Until then the consumer's reply may carry it.

/// Number of requests that one frame acknowledges while more keep arriving. A requester with few requests in
/// flight waits for these acknowledgements.
const BATCH: u32 = 4;
/// The same over a link on which each frame is a system call.
const LARGE_BATCH: u32 = 8;
/// Number of polls without a request after which a stream counts as interrupted.
const STREAM_PATIENCE: u32 = 8;
/// A request that arrives within fewer polls after an acknowledgement was sent before the peer received
/// it, so it belongs to a stream.
const FLIGHT_POLLS: u32 = 4;

/// Number of polls without a request after which a reply counts as missing, if the consumer has answered the requests
/// before.
const REPLY_POLLS: u32 = 32;

/// The delay of acknowledgements, from the distances between requests. Counts are in polls.
#[derive(Debug)]
pub(crate) struct AckDelay {
    /// Number of requests that one frame acknowledges.
    batch: u32,
    /// Polls since the last request.
    idle: u32,
    /// Polls without a request that pass before an acknowledgement.
    patience: u32,
}

impl AckDelay {
    /// The delay over a link; `is_costly` says whether each frame is a system call.
    pub(crate) fn new(is_costly: bool) -> Self {
        let batch = if is_costly { LARGE_BATCH } else { BATCH };
        Self { batch, idle: 0, patience: 0 }
    }

    /// The consumer is about to answer the requests that a poll has found.
    pub(crate) fn await_reply(&mut self) {
        self.patience = REPLY_POLLS;
    }

    /// Returns true if an acknowledgement waits for the answer of the consumer.
    pub(crate) const fn awaits_reply(&self) -> bool {
        self.patience == REPLY_POLLS
    }

    /// A poll found requests, or none. Returns whether to acknowledge the `owed` requests now.
    #[inline]
    pub(crate) fn is_due(&mut self, has_requests: bool, owed: u32) -> bool {
        if has_requests {
            let is_stream = self.idle < self.patience + FLIGHT_POLLS;
            self.patience = if is_stream { STREAM_PATIENCE } else { 0 };
            self.idle = 0;
            owed >= self.batch
        } else {
            self.idle = self.idle.saturating_add(1);
            self.idle > self.patience
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of the poll, from 1, that acknowledges one request.
    fn polls_until_due(delay: &mut AckDelay) -> u32 {
        (1..).find(|_| delay.is_due(false, 1)).expect("it is due some time")
    }

    #[test]
    fn a_peer_that_waits_gets_its_acknowledgement_from_the_first_idle_poll() {
        let mut delay = AckDelay::new(false);
        delay.is_due(true, 1);
        polls_until_due(&mut delay);
        for _ in 0..FLIGHT_POLLS {
            delay.is_due(false, 0);
        }
        assert!(!delay.is_due(true, 1));
        assert_eq!(polls_until_due(&mut delay), 1);
    }

    #[test]
    fn requests_of_a_stream_are_acknowledged_together() {
        let mut delay = AckDelay::new(false);
        delay.is_due(true, 1);
        for owed in 2..BATCH {
            assert!(!delay.is_due(false, owed) && !delay.is_due(true, owed), "{owed}");
        }
        assert!(delay.is_due(true, BATCH));
        assert_eq!(polls_until_due(&mut delay), STREAM_PATIENCE + 1);
    }
}
