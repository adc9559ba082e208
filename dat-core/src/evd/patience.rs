//! How long a waiter stays awake before it sleeps.
//!
//! To sleep and to be woken takes a processor some 25 µs, most of them before the answer is seen.
//! A waiter that looks for about as long before it sleeps pays at most twice what it must, and
//! where the answer comes soon it pays next to nothing.

use std::sync::OnceLock;
use std::time::Duration;

use super::streams::Mode;
use crate::timeout::Timeout;

/// Under the lock of the queue that is waited on.
pub(super) struct Patience {
    /// How often the next waiter looks.
    turns: u32,
}

/// About as long as a sleep costs. The models of `.ci/loom` try the sleep, and one turn.
const MOST: u32 = if cfg!(all(test, loom)) { 1 } else { 256 };
/// So many remain when it was in vain again and again: an answer within them ends that.
const LEAST: u32 = if cfg!(all(test, loom)) { 1 } else { 32 };
/// Who waits for a shorter time sleeps at once, so as not to be late.
const SHORTEST: Duration = Duration::from_micros(200);

impl Default for Patience {
    fn default() -> Self {
        Self { turns: MOST }
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
        self.turns = if answered { MOST } else { (self.turns / 2).max(LEAST) };
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
