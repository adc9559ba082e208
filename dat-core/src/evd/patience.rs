//! How long a waiter stays awake before it sleeps.
//!
//! To sleep and to be woken takes a processor some 25 µs, most of them before the answer is seen.
//! A waiter that looks for about as long before it sleeps pays at most twice what it must, and
//! where the answer comes soon it pays next to nothing.
//!
//! Looking in vain is done less and less. But two that sleep both answer late only because the
//! other had to be woken first: a sleep that was short is a reason to try once more, which is
//! tried ever less often while nothing comes of it.

use std::sync::OnceLock;
use std::time::Duration;

use super::streams::Mode;
use crate::timeout::Timeout;

/// Under the lock of the queue that is waited on.
pub(super) struct Patience {
    /// How often the next waiter looks.
    turns: u32,
    /// So many short sleeps are not taken for a reason to look again.
    pass: u32,
    /// How many it will be after the next that was.
    doubt: u32,
}

/// About as long as a sleep costs. The models of `.ci/loom` try the sleep, and one turn.
const MOST: u32 = if cfg!(all(test, loom)) { 1 } else { 1024 };
/// So many remain when it was in vain again and again: an answer within them ends that.
const LEAST: u32 = if cfg!(all(test, loom)) { 1 } else { 32 };
/// Who waits for a shorter time sleeps at once, so as not to be late.
const SHORTEST: Duration = Duration::from_micros(200);
/// A sleep of two, each of which has to be woken, takes no longer.
const NAP: Duration = Duration::from_micros(100);
/// Short sleeps between two tries, at the most.
const DOUBT: u32 = 1024;

impl Default for Patience {
    fn default() -> Self {
        Self { turns: MOST, pass: 0, doubt: 1 }
    }
}

impl Patience {
    /// How often to look before the sleep.
    pub(super) fn turns(&self, mode: Mode, timeout: Timeout) -> u32 {
        // In the other modes not every arrival ends a wait, and only its notification tells.
        let fits = mode == Mode::Threshold && Timeout::After(SHORTEST) <= timeout;
        if fits && another_can_run() { self.turns } else { 0 }
    }

    /// What came of looking.
    pub(super) fn learn(&mut self, answered: bool) {
        if answered {
            *self = Self::default();
        } else {
            self.turns = (self.turns / 2).max(LEAST);
        }
    }

    /// How long it was until the sleeper was answered.
    pub(super) fn learn_of_sleep(&mut self, time: Duration) {
        if time > NAP {
            return;
        }
        if self.pass > 0 {
            self.pass -= 1;
            return;
        }
        self.turns = MOST;
        self.pass = self.doubt;
        self.doubt = (self.doubt * 2).min(DOUBT);
    }
}

/// Whether somebody else can run while this thread looks.
fn another_can_run() -> bool {
    static PARALLEL: OnceLock<bool> = OnceLock::new();
    *PARALLEL.get_or_init(|| std::thread::available_parallelism().is_ok_and(|most| most.get() > 1))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_vain_is_done_less_and_an_answer_makes_up_for_it() {
        let mut patience = Patience::default();
        assert_eq!(patience.turns, MOST);
        for _ in 0..20 {
            patience.learn(false);
        }
        assert_eq!(patience.turns, LEAST);
        patience.learn(true);
        assert_eq!(patience.turns, MOST);
    }

    #[test]
    fn a_short_sleep_is_a_reason_to_look_again_and_ever_less_often_one_in_vain() {
        let mut patience = Patience::default();
        let in_vain = |patience: &mut Patience| (0..20).for_each(|_| patience.learn(false));
        in_vain(&mut patience);
        patience.learn_of_sleep(NAP * 2);
        assert_eq!(patience.turns, LEAST, "nobody sleeps that long because of the other");
        let mut tries = Vec::new();
        for sleep in 0..5000 {
            patience.learn_of_sleep(NAP);
            if patience.turns == MOST {
                tries.push(sleep);
            }
            in_vain(&mut patience);
        }
        assert_eq!(tries, [0, 2, 5, 10, 19, 36, 69, 134, 263, 520, 1033, 2058, 3083, 4108]);
        patience.learn(true);
        in_vain(&mut patience);
        patience.learn_of_sleep(NAP);
        assert_eq!(patience.turns, MOST, "an answer makes up for all of it");
    }

    #[test]
    fn short_waits_and_chosen_notifications_are_slept_on_at_once() {
        let patience = Patience::default();
        let short = Timeout::After(SHORTEST - Duration::from_nanos(1));
        assert_eq!(patience.turns(Mode::Threshold, short), 0);
        assert_eq!(patience.turns(Mode::Solicited, Timeout::Infinite), 0);
        assert_eq!(patience.turns(Mode::Unsignalled, Timeout::Infinite), 0);
        let expected = if another_can_run() { MOST } else { 0 };
        assert_eq!(patience.turns(Mode::Threshold, Timeout::Infinite), expected);
    }
}
