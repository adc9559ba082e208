//! How the consumer of a link has used its leases, which decides when the link is lent again and how soon the
//! driver checks the next lease.
//!
//! A consumer may poll its dispatcher until its own operation is done and then spin on memory, without a call,
//! until the peer has written there; MPI libraries do. Such polls say nothing about the time after them, so a
//! lease that made the peer wait is followed by a pause, which only requests of the peer that polls find can end
//! before its time.

use std::time::{Duration, Instant};

use dat_sync::clock;

use super::attention::LEASE_BOUND;

/// How long a link is not lent after a request of the peer had to wait for a poll; doubled each time.
const MIN_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// Number of requests of the peer, all found by polls and none by the driver, that end the pause.
const MIN_FOUND_BY_POLLS: u32 = 64;
/// When the driver checks a lease for the first time. It doubles the interval while the consumer polls.
pub(crate) const MIN_CHECK_INTERVAL: Duration = Duration::from_micros(50);
/// The longest interval while every processor is busy: the thread would take time from the consumer.
const MAX_CHECK_INTERVAL: Duration = Duration::from_millis(2);

/// The end of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseEnd {
    /// The consumer did not poll, and a request of the peer or for it waited.
    Late,
    /// The consumer did not poll, and nothing waited.
    Unused,
    /// The consumer still polls; the driver needs the link for another reason.
    Recalled,
}

/// The leases of a link so far.
#[derive(Debug)]
pub(crate) struct LeaseHistory {
    paused_until: Option<Instant>,
    pause: Duration,
    /// Requests of the peer that polls found in a row during the pause.
    found_by_polls: u32,
    first_interval: Duration,
}

impl Default for LeaseHistory {
    fn default() -> Self {
        Self {
            paused_until: None,
            pause: Duration::ZERO,
            found_by_polls: 0,
            first_interval: MIN_CHECK_INTERVAL,
        }
    }
}

impl LeaseHistory {
    /// Whether the link must not be lent now.
    pub(crate) fn forbids_lease(&mut self) -> bool {
        let Some(until) = self.paused_until else { return false };
        if self.found_by_polls >= MIN_FOUND_BY_POLLS || clock::now() >= until {
            self.paused_until = None;
        }
        self.paused_until.is_some()
    }

    /// A poll read the link while it was not lent, and executed `requests` of the peer.
    pub(crate) fn note_poll(&mut self, requests: u32) {
        self.found_by_polls = self.found_by_polls.saturating_add(requests);
    }

    /// The driver read the link and executed requests of the peer.
    pub(crate) fn note_driver(&mut self) {
        self.found_by_polls = 0;
    }

    /// When the driver checks the next lease for the first time. A consumer that polls at long intervals
    /// gets longer ones, so that the link does not change hands with each poll.
    pub(crate) fn first_interval(&self) -> Duration {
        self.first_interval
    }

    pub(crate) fn note_end(&mut self, end: LeaseEnd) {
        match end {
            LeaseEnd::Late => {
                self.pause = (self.pause * 2).clamp(MIN_PAUSE, MAX_PAUSE);
                self.paused_until = Some(clock::now() + self.pause);
                self.found_by_polls = 0;
                self.first_interval = MIN_CHECK_INTERVAL;
            }
            LeaseEnd::Unused => {
                self.pause /= 2;
                self.first_interval = next_interval(self.first_interval);
            }
            LeaseEnd::Recalled => {}
        }
    }
}

/// The time to the next check of a lease whose consumer polled during the last interval.
pub(crate) fn next_interval(interval: Duration) -> Duration {
    (interval * 2).min(MAX_CHECK_INTERVAL)
}

/// The longest time between two checks.
pub(crate) const fn longest_interval(is_busy: bool) -> Duration {
    if is_busy { MAX_CHECK_INTERVAL } else { LEASE_BOUND }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late() -> LeaseHistory {
        let mut history = LeaseHistory::default();
        assert!(!history.forbids_lease(), "nothing was late");
        history.note_end(LeaseEnd::Late);
        history
    }

    #[test]
    fn only_requests_found_by_polls_end_the_pause_before_its_time() {
        let mut history = late();
        history.note_poll(MIN_FOUND_BY_POLLS - 1);
        assert!(history.forbids_lease());
        history.note_driver();
        history.note_poll(1);
        assert!(history.forbids_lease(), "the driver found one in between");
        history.note_poll(MIN_FOUND_BY_POLLS - 1);
        assert!(!history.forbids_lease());
        assert!(!history.forbids_lease(), "the pause has ended");
    }

    #[test]
    fn a_pause_ends_by_itself_and_the_next_one_is_longer() {
        let mut history = late();
        let first = history.paused_until.take().expect("a pause");
        assert!(!history.forbids_lease());
        history.note_end(LeaseEnd::Late);
        let second = history.paused_until.expect("a pause");
        assert!(second.duration_since(first) >= MIN_PAUSE);
        assert_eq!(history.pause, MIN_PAUSE * 2);
        history.paused_until = Instant::now().checked_sub(Duration::from_millis(1));
        assert!(!history.forbids_lease());
    }

    #[test]
    fn a_consumer_that_polls_rarely_without_harm_is_checked_later() {
        let mut history = LeaseHistory::default();
        for _ in 0..10 {
            history.note_end(LeaseEnd::Unused);
        }
        assert_eq!(history.first_interval(), MAX_CHECK_INTERVAL);
        assert!(!history.forbids_lease());
        history.note_end(LeaseEnd::Late);
        assert_eq!(history.first_interval(), MIN_CHECK_INTERVAL);
    }
}
