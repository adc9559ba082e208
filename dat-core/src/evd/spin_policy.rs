//! Adaptive spinning: how long a waiter polls before it blocks.
//!
//! To block and to be woken takes about 25 µs, so a waiter spins for at most about as long. The time
//! halves after each fruitless spin. An answer during a spin restores it. A short sleep
//! restores it too, with exponential back-off: two peers that both sleep answer late only because
//! each has to be woken first.

use std::time::{Duration, Instant};

use dat_sync::clock;

use super::processors;
use super::streams::Mode;
use crate::timeout::Timeout;

/// Protected by the lock of the queue that is waited on.
pub(super) struct SpinPolicy {
    /// How long the next spin may take, within `MIN_SPIN..=MAX_SPIN`.
    limit: Duration,
    /// Short sleeps still to be ignored before spinning is tried again.
    skip: u32,
    /// Value of `skip` after the next retry; doubles each time, up to `MAX_BACKOFF`.
    backoff: u32,
    /// True if a poll took [`SLOW_POLL`] in the last spin that measured it.
    is_slow: bool,
}

/// About as long as a sleep costs.
const MAX_SPIN: Duration = Duration::from_micros(30);
/// The time that remains after many fruitless spins; an event within it restores the full time.
const MIN_SPIN: Duration = Duration::from_micros(1);
/// Polls before the clock is read.
const FEW_POLLS: u32 = 6;
/// A longer spin yields the processor now and then: the peer may have been woken on it, and the system moves
/// it to another one only after milliseconds.
const MIN_YIELD: Duration = Duration::from_nanos(500);
/// A poll that takes so long makes system calls. Then the spin yields the processor after its first poll: that costs no
/// more than another poll.
const SLOW_POLL: Duration = Duration::from_nanos(200);
/// Maximum number of polls between two readings of the clock.
const MAX_UNTIMED: u32 = 64;
/// A waiter with a shorter time-out blocks at once, so that it does not overrun.
const MIN_TIMEOUT: Duration = Duration::from_micros(200);
/// A sleep between two peers that both block takes no longer.
const SHORT_SLEEP: Duration = Duration::from_micros(100);
/// Maximum number of short sleeps between two retries.
const MAX_BACKOFF: u32 = 1024;

impl Default for SpinPolicy {
    fn default() -> Self {
        Self { limit: MAX_SPIN, skip: 0, backoff: 1, is_slow: false }
    }
}

impl SpinPolicy {
    /// How long a waiter polls before it blocks.
    pub(super) fn limit(&self, mode: Mode, timeout: Timeout) -> Duration {
        // In the other modes not every arrival ends a wait, and only a notification tells which
        // does.
        let fits = mode == Mode::Threshold && Timeout::After(MIN_TIMEOUT) <= timeout;
        // The time of a simulation does not pass during a spin.
        if fits && !clock::is_simulated() && processors::several() {
            self.limit
        } else {
            Duration::ZERO
        }
    }

    /// A spin of this length, which yields early if polls were slow.
    pub(super) const fn spin(&self, limit: Duration) -> Spin {
        Spin { limit, polls: 0, began: None, is_slow: self.is_slow, timed_from: 0 }
    }

    /// Adapts the next spins to one that has ended, with an event (`answered`) or without.
    pub(super) fn learn(&mut self, spin: &Spin, answered: bool) {
        if answered {
            *self = Self::default();
        } else {
            self.limit = (self.limit / 2).max(MIN_SPIN);
        }
        self.is_slow = spin.is_slow;
    }

    /// Records how long a waiter slept until an event woke it.
    pub(super) fn record_sleep(&mut self, time: Duration) {
        if time > SHORT_SLEEP {
            return;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        self.limit = MAX_SPIN;
        self.skip = self.backoff;
        self.backoff = (self.backoff * 2).min(MAX_BACKOFF);
    }
}

/// A spin in progress. Polls of some providers take a hundred times as long as those of others, so the
/// spin is bounded by time.
#[derive(Debug)]
pub(super) struct Spin {
    limit: Duration,
    /// Number of polls that found nothing.
    polls: u32,
    began: Option<Instant>,
    /// True if a poll takes [`SLOW_POLL`], as far as is known.
    is_slow: bool,
    /// Number of polls when the clock was first read, until it is read again; otherwise 0.
    timed_from: u32,
}

impl Spin {
    /// Returns true if the waiter may spin at all.
    pub(super) const fn is_allowed(&self) -> bool {
        !self.limit.is_zero()
    }

    /// Returns true if the spin has taken a noticeable time.
    pub(super) const fn is_noticeable(&self) -> bool {
        self.began.is_some()
    }

    /// A poll has found nothing. Returns whether to poll again.
    pub(super) fn goes_on(&mut self) -> bool {
        if !self.is_allowed() {
            return false;
        }
        self.polls += 1;
        // The models try one more poll, and the sleep.
        if cfg!(all(test, loom)) {
            return self.polls == 1;
        }
        // The clock takes about as long as a short poll.
        let untimed = if self.is_slow { 1 } else { FEW_POLLS };
        let is_later = self.polls.is_power_of_two() || self.polls % MAX_UNTIMED == 0;
        if self.polls < untimed || !is_later && self.polls > untimed {
            return true;
        }
        if self.is_slow && self.began.is_none() {
            std::thread::yield_now();
        }
        let now = Instant::now();
        let Some(began) = self.began else {
            self.began = Some(now);
            self.timed_from = self.polls;
            return true;
        };
        let elapsed = now.duration_since(began);
        if self.timed_from != 0 {
            // No yield of the processor is in this time.
            self.is_slow = elapsed >= SLOW_POLL * (self.polls - self.timed_from);
            self.timed_from = 0;
        }
        if elapsed >= MIN_YIELD {
            std::thread::yield_now();
        }
        elapsed < self.limit
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn fruitless_spins_get_shorter_until_an_answer_arrives() {
        let mut spin_policy = SpinPolicy::default();
        assert_eq!(spin_policy.limit, MAX_SPIN);
        for _ in 0..20 {
            spin_policy.learn(&spin_policy.spin(MAX_SPIN), false);
        }
        assert_eq!(spin_policy.limit, MIN_SPIN);
        spin_policy.learn(&spin_policy.spin(MAX_SPIN), true);
        assert_eq!(spin_policy.limit, MAX_SPIN);
    }

    #[test]
    fn short_sleeps_restore_the_spin_with_exponential_back_off() {
        let mut spin_policy = SpinPolicy::default();
        let be_fruitless = |spin_policy: &mut SpinPolicy| {
            (0..20).for_each(|_| spin_policy.learn(&spin_policy.spin(MAX_SPIN), false))
        };
        be_fruitless(&mut spin_policy);
        spin_policy.record_sleep(SHORT_SLEEP * 2);
        assert_eq!(
            spin_policy.limit, MIN_SPIN,
            "such a sleep is longer than the wake-up of a peer"
        );
        let mut tries = Vec::new();
        for sleep in 0..5000 {
            spin_policy.record_sleep(SHORT_SLEEP);
            if spin_policy.limit == MAX_SPIN {
                tries.push(sleep);
            }
            be_fruitless(&mut spin_policy);
        }
        assert_eq!(tries, [0, 2, 5, 10, 19, 36, 69, 134, 263, 520, 1033, 2058, 3083, 4108]);
        spin_policy.learn(&spin_policy.spin(MAX_SPIN), true);
        be_fruitless(&mut spin_policy);
        spin_policy.record_sleep(SHORT_SLEEP);
        assert_eq!(spin_policy.limit, MAX_SPIN, "an answer resets the back-off");
    }

    #[test]
    fn a_spin_ends_by_the_clock_however_long_a_poll_takes() {
        for poll in [Duration::ZERO, Duration::from_micros(20)] {
            let (mut spin, mut polls) = (SpinPolicy::default().spin(MAX_SPIN), 0);
            let began = Instant::now();
            while spin.goes_on() {
                polls += 1;
                std::thread::sleep(poll);
            }
            assert!(began.elapsed() >= MAX_SPIN, "{polls} polls");
            assert!(poll.is_zero() || polls < 2 * FEW_POLLS, "{polls} polls");
        }
        assert!(!SpinPolicy::default().spin(Duration::ZERO).goes_on());
    }

    /// A poll of this length; returns the polls that preceded the first reading of the clock, and what the policy knows
    /// afterwards.
    fn spin_with(spin_policy: &mut SpinPolicy, poll: Duration) -> (u32, bool) {
        let mut spin = spin_policy.spin(MAX_SPIN);
        let mut untimed = 0;
        loop {
            let began = Instant::now();
            while began.elapsed() < poll {}
            if !spin.goes_on() {
                break;
            }
            untimed += u32::from(!spin.is_noticeable());
        }
        spin_policy.learn(&spin, false);
        (untimed, spin_policy.is_slow)
    }

    #[test]
    fn a_spin_of_slow_polls_yields_the_processor_after_the_first() {
        let mut spin_policy = SpinPolicy::default();
        assert_eq!(spin_with(&mut spin_policy, SLOW_POLL * 2), (FEW_POLLS - 1, true));
        assert_eq!(spin_with(&mut spin_policy, SLOW_POLL * 2), (0, true));
        // The test may be preempted in a spin, which then takes its polls for slow.
        let becomes_fast = |spin_policy: &mut SpinPolicy| !spin_with(spin_policy, Duration::ZERO).1;
        assert!((0..1000).any(|_| becomes_fast(&mut spin_policy)));
    }

    #[test]
    fn short_waits_and_chosen_notifications_do_not_spin() {
        let spin_policy = SpinPolicy::default();
        let short = Timeout::After(MIN_TIMEOUT - Duration::from_nanos(1));
        assert_eq!(spin_policy.limit(Mode::Threshold, short), Duration::ZERO);
        assert_eq!(spin_policy.limit(Mode::Solicited, Timeout::Infinite), Duration::ZERO);
        assert_eq!(spin_policy.limit(Mode::Unsignalled, Timeout::Infinite), Duration::ZERO);
        let expected = if processors::several() { MAX_SPIN } else { Duration::ZERO };
        assert_eq!(spin_policy.limit(Mode::Threshold, Timeout::Infinite), expected);
    }
}
