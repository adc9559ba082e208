//! Adaptive spinning: how long a waiter polls before it blocks.
//!
//! To block and to be woken takes about 25 µs, so a waiter spins for at most about as long. The spin
//! count halves after each fruitless spin. An answer during a spin restores it. A short sleep
//! restores it too, with exponential back-off: two peers that both sleep answer late only because
//! each has to be woken first.

use std::time::Duration;

use super::processors;
use super::streams::Mode;
use crate::timeout::Timeout;

/// Protected by the lock of the queue that is waited on.
pub(super) struct SpinPolicy {
    /// Polls before the next block, within `MIN_SPINS..=MAX_SPINS`.
    spins: u32,
    /// Short sleeps still to be ignored before spinning is tried again.
    skip: u32,
    /// Value of `skip` after the next retry; doubles each time, up to `MAX_BACKOFF`.
    backoff: u32,
}

/// About as long as a sleep costs. The models of `.ci/loom` try the sleep, and one turn.
const MAX_SPINS: u32 = if cfg!(all(test, loom)) { 1 } else { 1024 };
/// Polls that remain after many fruitless spins; an event within them restores the count.
const MIN_SPINS: u32 = if cfg!(all(test, loom)) { 1 } else { 32 };
/// A waiter with a shorter time-out blocks at once, so that it does not overrun.
const MIN_TIMEOUT: Duration = Duration::from_micros(200);
/// A sleep between two peers that both block takes no longer.
const SHORT_SLEEP: Duration = Duration::from_micros(100);
/// Maximum number of short sleeps between two retries.
const MAX_BACKOFF: u32 = 1024;

impl Default for SpinPolicy {
    fn default() -> Self {
        Self { spins: MAX_SPINS, skip: 0, backoff: 1 }
    }
}

impl SpinPolicy {
    /// Number of polls before the waiter blocks.
    pub(super) fn spins(&self, mode: Mode, timeout: Timeout) -> u32 {
        // In the other modes not every arrival ends a wait, and only a notification tells which
        // does.
        let fits = mode == Mode::Threshold && Timeout::After(MIN_TIMEOUT) <= timeout;
        if fits && processors::several() { self.spins } else { 0 }
    }

    /// Learns whether a spin ended with an event.
    pub(super) fn learn(&mut self, answered: bool) {
        if answered {
            *self = Self::default();
        } else {
            self.spins = (self.spins / 2).max(MIN_SPINS);
        }
    }

    /// Learns how long a waiter slept until an event woke it.
    pub(super) fn learn_of_sleep(&mut self, time: Duration) {
        if time > SHORT_SLEEP {
            return;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        self.spins = MAX_SPINS;
        self.skip = self.backoff;
        self.backoff = (self.backoff * 2).min(MAX_BACKOFF);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn fruitless_spins_get_shorter_until_an_answer_arrives() {
        let mut spin_policy = SpinPolicy::default();
        assert_eq!(spin_policy.spins, MAX_SPINS);
        for _ in 0..20 {
            spin_policy.learn(false);
        }
        assert_eq!(spin_policy.spins, MIN_SPINS);
        spin_policy.learn(true);
        assert_eq!(spin_policy.spins, MAX_SPINS);
    }

    #[test]
    fn short_sleeps_restore_the_spin_with_exponential_back_off() {
        let mut spin_policy = SpinPolicy::default();
        let be_fruitless =
            |spin_policy: &mut SpinPolicy| (0..20).for_each(|_| spin_policy.learn(false));
        be_fruitless(&mut spin_policy);
        spin_policy.learn_of_sleep(SHORT_SLEEP * 2);
        assert_eq!(
            spin_policy.spins, MIN_SPINS,
            "such a sleep is longer than the wake-up of a peer"
        );
        let mut tries = Vec::new();
        for sleep in 0..5000 {
            spin_policy.learn_of_sleep(SHORT_SLEEP);
            if spin_policy.spins == MAX_SPINS {
                tries.push(sleep);
            }
            be_fruitless(&mut spin_policy);
        }
        assert_eq!(tries, [0, 2, 5, 10, 19, 36, 69, 134, 263, 520, 1033, 2058, 3083, 4108]);
        spin_policy.learn(true);
        be_fruitless(&mut spin_policy);
        spin_policy.learn_of_sleep(SHORT_SLEEP);
        assert_eq!(spin_policy.spins, MAX_SPINS, "an answer resets the back-off");
    }

    #[test]
    fn short_waits_and_chosen_notifications_do_not_spin() {
        let spin_policy = SpinPolicy::default();
        let short = Timeout::After(MIN_TIMEOUT - Duration::from_nanos(1));
        assert_eq!(spin_policy.spins(Mode::Threshold, short), 0);
        assert_eq!(spin_policy.spins(Mode::Solicited, Timeout::Infinite), 0);
        assert_eq!(spin_policy.spins(Mode::Unsignalled, Timeout::Infinite), 0);
        let expected = if processors::several() { MAX_SPINS } else { 0 };
        assert_eq!(spin_policy.spins(Mode::Threshold, Timeout::Infinite), expected);
    }
}
