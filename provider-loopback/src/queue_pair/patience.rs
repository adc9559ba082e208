//! How long a sender spins for a receive before its request waits at the peer.
//!
//! A request that waits is executed by the poster of the receive. The sender and the poster then share
//! the responder's lock and the completion queues, and each message costs several times as much. A
//! receiver that polls posts its next receive within a fraction of a microsecond, so a sender that is
//! ahead of it spins for about that long. Fruitless spins are skipped with exponential back-off:
//! the receiver may not run, or be the same thread.

use std::hint;

/// Spins of at most a microsecond or two, with exponential back-off.
#[derive(Default)]
pub(super) struct Patience {
    /// Spins still to be skipped.
    skip: u16,
    /// Value of `skip` after the next fruitless spin.
    backoff: u16,
}

/// Turns of a spin.
const TURNS: u32 = 48;
/// Maximum number of spins that are skipped in a row.
const MAX_BACKOFF: u16 = 1023;

impl Patience {
    /// Spins until the condition is met, for a short time or not at all; returns whether it is.
    pub(super) fn spin(&mut self, mut is_met: impl FnMut() -> bool) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        for _ in 0..TURNS {
            hint::spin_loop();
            if is_met() {
                self.backoff = 0;
                return true;
            }
        }
        self.backoff = (self.backoff * 2 + 1).min(MAX_BACKOFF);
        self.skip = self.backoff;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fruitless_spins_are_skipped_with_exponential_back_off() {
        let mut patience = Patience::default();
        let mut spins = Vec::new();
        for attempt in 0..5000 {
            let mut turns = 0;
            let is_met = patience.spin(|| {
                turns += 1;
                false
            });
            assert!(!is_met);
            if turns > 0 {
                assert_eq!(turns, TURNS);
                spins.push(attempt);
            }
        }
        assert_eq!(spins, [0, 2, 6, 14, 30, 62, 126, 254, 510, 1022, 2046, 3070, 4094]);
    }

    #[test]
    fn a_spin_that_succeeds_ends_the_back_off() {
        let mut patience = Patience::default();
        assert!(!patience.spin(|| false));
        assert!(!patience.spin(|| true), "skipped");
        assert!(patience.spin(|| true));
        let mut turns = 0;
        let is_third = || {
            turns += 1;
            turns == 3
        };
        assert!(patience.spin(is_third));
        assert!(!patience.spin(|| false));
        assert_eq!([(); 2].map(|()| patience.spin(|| true)), [false, true]);
    }
}
