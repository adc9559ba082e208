//! Progress by polls of dispatchers for connection events.
//!
//! MPI libraries await a message by polling memory and such a dispatcher in turns. For each arrival, the thread would
//! take the processor from them. It therefore leaves its work to these polls, and checks periodically that they
//! continue. A lease in which an arrival had to wait is followed by a pause, unless every processor is busy or
//! polls have found enough.

use std::time::{Duration, Instant};

use dat_sync::clock;

use super::lease_history::{LeaseEnd, LeaseHistory, intervals};

/// The thread leaves its work to polls after this many consecutive wake-ups by a link, each preceded by a poll.
const MIN_WAKE_UPS: u32 = 4;
/// The lease ends after this many consecutive checks without a poll. A consumer polls again after a long call; until
/// then, the thread reads the links at each check.
const MAX_UNPOLLED: u32 = 4;
/// The lease, and the counters that decide whether there is one.
#[derive(Default)]
pub(super) struct PollLease {
    history: LeaseHistory,
    /// Number of polls at the last wake-up or check.
    polls_seen: u32,
    wake_ups: u32,
    /// Number of checks since the last poll.
    unpolled: u32,
    /// Time of the next check of the lease; `None` without a lease.
    due: Option<Instant>,
}

impl PollLease {
    /// Returns the time of the next check.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// A link has woken the thread; `polls` counts all polls. Returns true if polls are to make progress from now on.
    pub(super) fn note_wake_up(&mut self, polls: u32) -> bool {
        let is_polled = std::mem::replace(&mut self.polls_seen, polls) != polls;
        self.wake_ups = if is_polled { self.wake_ups.saturating_add(1) } else { 0 };
        self.wake_ups >= MIN_WAKE_UPS && !self.history.forbids_lease()
    }

    /// Polls have requested the lease; `polls` counts them. Returns true if they are to make progress from now on.
    pub(super) fn note_request(&mut self, polls: u32) -> bool {
        self.polls_seen = polls;
        self.due.is_none() && !self.history.forbids_lease()
    }

    /// The lease begins. `arrivals` counts the links that were read so far.
    pub(super) fn begin(&mut self, arrivals: u32, is_busy: bool) {
        (self.wake_ups, self.unpolled) = (0, 0);
        self.history.begin(arrivals);
        self.due = Some(clock::now() + interval(is_busy));
    }

    /// Returns true if a check is due and there were no polls since the last checks.
    pub(super) fn is_unused(&mut self, polls: u32, is_busy: bool) -> bool {
        let now = clock::now();
        if self.due.is_none_or(|due| now < due) {
            return false;
        }
        self.due = Some(now + interval(is_busy));
        let is_polled = std::mem::replace(&mut self.polls_seen, polls) != polls;
        self.unpolled = if is_polled { 0 } else { self.unpolled + 1 };
        self.unpolled >= MAX_UNPOLLED
    }

    /// The lease ends without polls; for `arrivals`, see [`begin`](Self::begin); `has_waited` is true if the thread
    /// finds an arrival now that it would have found sooner without the lease.
    pub(super) fn end(&mut self, arrivals: u32, has_waited: bool) {
        self.due = None;
        self.history.end(if has_waited { LeaseEnd::Late } else { LeaseEnd::Unused }, arrivals);
    }

    /// A waiter has claimed the work, or there is no lease.
    pub(super) const fn drop_lease(&mut self) {
        self.due = None;
    }
}

/// The time between two checks. It does not grow: each check is short, and no poll follows the last arrival.
const fn interval(is_busy: bool) -> Duration {
    intervals(is_busy).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_before_each_wake_up_begin_a_lease() {
        let mut lease = PollLease::default();
        for polls in 1..MIN_WAKE_UPS {
            assert!(!lease.note_wake_up(polls));
        }
        assert!(!lease.note_wake_up(MIN_WAKE_UPS - 1), "a wake-up without a poll before it");
        for polls in 10..10 + MIN_WAKE_UPS - 1 {
            assert!(!lease.note_wake_up(polls));
        }
        assert!(lease.note_wake_up(100));
    }

    #[test]
    fn a_lease_without_polls_is_unused_and_a_late_one_is_followed_by_a_pause() {
        let mut lease = PollLease::default();
        assert!(!lease.is_unused(0, false), "there is no lease");
        lease.begin(0, false);
        lease.due = Some(clock::now());
        assert!(!lease.is_unused(7, false), "there were polls");
        for is_last in [false, false, false, true] {
            lease.due = Some(clock::now());
            assert_eq!(lease.is_unused(7, false), is_last);
        }
        lease.end(0, true);
        assert_eq!(lease.due(), None);
        let mut wake_ups = (8..8 + 2 * MIN_WAKE_UPS).map(|polls| lease.note_wake_up(polls));
        assert!(!wake_ups.any(|begins| begins));
    }
}
