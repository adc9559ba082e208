//! The lease history of a link: how its consumer has used leases decides when the link is lent again and how soon the
//! driver checks the next lease.
//!
//! A consumer may poll its dispatcher until its own operation completes, and then spin on memory, without a call, until
//! the peer has written there; MPI libraries do. Its polls do not predict later ones, so a lease that made the peer
//! wait is followed by a pause. Only requests of the peer that polls find can shorten the pause. A consumer that polls
//! continuously is also late when it is preempted or computes for a while, so a lease in which polls have found enough
//! to pay for the delay is not followed by a pause.

use std::time::{Duration, Instant};

use dat_sync::clock;

use super::attention::LEASE_BOUND;
use crate::progress_mode::ProgressMode;

/// How long a link is not lent after a request of the peer had to wait for a poll; doubled each time.
const MIN_PAUSE: Duration = Duration::from_millis(2);
const MAX_PAUSE: Duration = Duration::from_millis(200);
/// This many requests of the peer, all found by polls and none by the driver, end the pause.
const MIN_FOUND_BY_POLLS: u32 = 64;
/// Number of requests that arrive or complete during a worthwhile lease: the wake-ups that they save take longer than a
/// late check.
pub(super) const WORTHWHILE: u32 = 16;
/// After a late lease, the consumer must return the link with its last completion this many times before it is lent to
/// the poller again; doubled if that lease is soon late too.
const MIN_RETURNS: u32 = 64;
const MAX_RETURNS: u32 = 4096;
/// Time to the driver's first check of a lease. It doubles the interval while the consumer polls.
pub(crate) const MIN_CHECK_INTERVAL: Duration = Duration::from_micros(50);
/// The shortest and longest intervals while every processor is busy, when checks would preempt the consumer.
const BUSY_FIRST_INTERVAL: Duration = Duration::from_micros(500);
const MAX_CHECK_INTERVAL: Duration = Duration::from_millis(2);

/// The end of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseEnd {
    /// The consumer did not poll, and a request of the peer or of its own waited.
    Late,
    /// The consumer did not poll, and nothing waited.
    Unused,
    /// The consumer polled until the driver recalled the link or the consumer went to sleep.
    Polled,
}

/// The past leases of a link.
#[derive(Debug)]
pub(crate) struct LeaseHistory {
    /// False if the thread reads every link itself.
    has_leases: bool,
    paused_until: Option<Instant>,
    pause: Duration,
    /// Consecutive requests of the peer that polls found during the pause.
    found_by_polls: u32,
    /// The activity of the connection when the link was last lent.
    activity_at_begin: u32,
    first_interval: Duration,
    /// Returns that must still precede the next lease, and their total after the last late one.
    returns_left: u32,
    returns: u32,
}

impl Default for LeaseHistory {
    fn default() -> Self {
        Self::new(ProgressMode::Sleep)
    }
}

impl LeaseHistory {
    /// The history of a new link, whose adapter has a thread of this mode.
    pub(crate) fn new(mode: ProgressMode) -> Self {
        Self {
            has_leases: !mode.spins(),
            paused_until: None,
            pause: Duration::ZERO,
            found_by_polls: 0,
            activity_at_begin: 0,
            first_interval: MIN_CHECK_INTERVAL,
            returns_left: 0,
            returns: 0,
        }
    }

    /// Returns true if the link may be lent at all.
    pub(crate) const fn has_leases(&self) -> bool {
        self.has_leases
    }

    /// Returns true if the link must not be lent now.
    pub(crate) fn forbids_lease(&mut self) -> bool {
        let Some(until) = self.paused_until else { return !self.has_leases };
        if self.found_by_polls >= MIN_FOUND_BY_POLLS || clock::now() >= until {
            self.paused_until = None;
        }
        self.paused_until.is_some()
    }

    /// Returns true if the consumer must return the link before it is lent to the poller.
    pub(crate) const fn awaits_returns(&self) -> bool {
        self.returns_left > 0
    }

    /// The consumer has returned the link with its last completion.
    pub(crate) const fn note_return(&mut self) {
        self.returns_left = self.returns_left.saturating_sub(1);
    }

    /// A poll read the link, which was not lent, and executed `requests` of the peer.
    pub(crate) fn note_poll(&mut self, requests: u32) {
        self.found_by_polls = self.found_by_polls.saturating_add(requests);
    }

    /// The driver read the link and executed requests of the peer.
    pub(crate) fn note_driver(&mut self) {
        self.found_by_polls = 0;
    }

    /// Time to the first check of the next lease. It is longer for a consumer that polls at long intervals, so that the
    /// link does not change hands with each poll.
    pub(crate) fn first_interval(&self) -> Duration {
        self.first_interval
    }

    /// The link is lent. `activity` counts the requests that have arrived or completed so far.
    pub(crate) fn begin(&mut self, activity: u32) {
        self.activity_at_begin = activity;
    }

    /// The lease ends; for `activity`, see [`begin`](Self::begin), before the driver reads.
    pub(crate) fn end(&mut self, end: LeaseEnd, activity: u32) {
        let requests = activity.wrapping_sub(self.activity_at_begin);
        if end == LeaseEnd::Late {
            let doubled = if requests < MAX_RETURNS { self.returns * 2 } else { 0 };
            self.returns = doubled.clamp(MIN_RETURNS, MAX_RETURNS);
            self.returns_left = self.returns;
        }
        if requests >= WORTHWHILE {
            self.pause = Duration::ZERO;
            return;
        }
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
            LeaseEnd::Polled => {}
        }
    }
}

/// The time to the next check of a lease whose consumer polled during the last interval.
pub(crate) fn next_interval(interval: Duration) -> Duration {
    (interval * 2).min(MAX_CHECK_INTERVAL)
}

/// The shortest time to the first check of a lease, and the longest time between two checks.
pub(crate) const fn intervals(is_busy: bool) -> (Duration, Duration) {
    if is_busy {
        (BUSY_FIRST_INTERVAL, MAX_CHECK_INTERVAL)
    } else {
        (MIN_CHECK_INTERVAL, LEASE_BOUND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late() -> LeaseHistory {
        let mut history = LeaseHistory::default();
        assert!(!history.forbids_lease(), "nothing was late");
        history.end(LeaseEnd::Late, 0);
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
        history.end(LeaseEnd::Late, 0);
        let second = history.paused_until.expect("a pause");
        assert!(second.duration_since(first) >= MIN_PAUSE);
        assert_eq!(history.pause, MIN_PAUSE * 2);
        history.paused_until = Instant::now().checked_sub(Duration::from_millis(1));
        assert!(!history.forbids_lease());
    }

    #[test]
    fn a_lease_that_is_worth_it_is_followed_by_no_pause() {
        let mut history = LeaseHistory::default();
        history.begin(u32::MAX);
        history.end(LeaseEnd::Late, WORTHWHILE - 1);
        assert!(!history.forbids_lease());
        history.begin(1);
        history.end(LeaseEnd::Late, WORTHWHILE);
        assert!(history.forbids_lease());
    }

    #[test]
    fn a_consumer_that_polls_rarely_without_harm_is_checked_later() {
        let mut history = LeaseHistory::default();
        for _ in 0..10 {
            history.end(LeaseEnd::Unused, 0);
        }
        assert_eq!(history.first_interval(), MAX_CHECK_INTERVAL);
        assert!(!history.forbids_lease());
        history.end(LeaseEnd::Late, 0);
        assert_eq!(history.first_interval(), MIN_CHECK_INTERVAL);
    }

    #[test]
    fn after_a_late_lease_the_consumer_must_return_the_link() {
        let mut history = LeaseHistory::default();
        for returns in [MIN_RETURNS, 2 * MIN_RETURNS] {
            history.begin(0);
            history.end(LeaseEnd::Late, WORTHWHILE);
            for _ in 0..returns {
                assert!(history.awaits_returns());
                history.note_return();
            }
            assert!(!history.awaits_returns());
        }
    }
}
