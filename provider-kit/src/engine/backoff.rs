//! The pause in lending a link.

use std::time::{Duration, Instant};

/// How long a link is not lent after a request of the peer had to wait for a poll; doubled each time.
const MIN_BACKOFF: Duration = Duration::from_millis(10);
const MAX_BACKOFF: Duration = Duration::from_secs(1);
/// A consumer spins if it polls at least this often between two checks,
const MIN_SPIN_POLLS: u64 = 4;
/// with at most this time from poll to poll.
const MAX_SPIN_INTERVAL: Duration = Duration::from_micros(20);

/// The pause in lending a link whose consumer stopped polling and let the peer wait. A consumer that
/// spins again ends it.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    until: Option<Instant>,
    duration: Duration,
    checked: Option<Instant>,
}

impl Backoff {
    /// Whether the link must not be lent now. The consumer polled `polls` times since the last check.
    pub(super) fn forbids(&mut self, polls: u64) -> bool {
        let Some(until) = self.until else { return false };
        let now = Instant::now();
        let spins = self.checked.replace(now).is_some_and(|checked| {
            let limit = MAX_SPIN_INTERVAL.saturating_mul(polls.try_into().unwrap_or(u32::MAX));
            polls >= MIN_SPIN_POLLS && now.duration_since(checked) <= limit
        });
        if spins || now >= until {
            self.until = None;
            return false;
        }
        true
    }

    /// The link was taken back. If a request of the peer had to wait for a poll (`is_late`), the
    /// consumer polls too rarely.
    pub(super) fn update(&mut self, is_late: bool) {
        if is_late {
            self.duration = (self.duration * 2).clamp(MIN_BACKOFF, MAX_BACKOFF);
            self.until = Some(Instant::now() + self.duration);
            self.checked = None;
        } else {
            self.duration = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_consumer_that_spins_again_ends_the_pause() {
        let mut backoff = Backoff::default();
        assert!(!backoff.forbids(1), "nothing was late");
        backoff.update(true);
        assert!(backoff.forbids(u64::MAX), "the first check knows no interval");
        assert!(backoff.forbids(MIN_SPIN_POLLS - 1), "too few polls");
        assert!(!backoff.forbids(u64::MAX), "polls without a gap");
        assert!(!backoff.forbids(1), "the pause has ended");
    }
}
