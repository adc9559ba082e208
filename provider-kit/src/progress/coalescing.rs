//! Coalescing: frames of requests that are posted in quick succession are sent together.
//!
//! A frame is held only if the poller reads the link, an earlier request is in flight, and the last
//! requests followed each other closely. It is sent with the next frame that exceeds the limit of the
//! link, by the poll that finds an acknowledgement, by a poll without a post before it, or after
//! [`MAX_HOLD`]. If the consumer makes no more calls, the thread sends it when it takes the link back.

use std::time::{Duration, Instant};

use dat_sync::clock;

/// Number of requests in quick succession that are sent individually.
const MIN_STREAK: u32 = 8;
/// Maximum time between two such requests.
const MAX_GAP: Duration = Duration::from_micros(50);
/// A poll sends frames that were held for this time, even if the consumer continues to post.
const MAX_HOLD: Duration = Duration::from_micros(20);
/// Number of polls, each with a post before it, after which polls leave frames held.
const MIN_ALTERNATIONS: u32 = 2;

/// The state of held frames of a connection.
#[derive(Debug, Default)]
pub(super) struct Coalescing {
    /// True while the link holds frames.
    is_holding: bool,
    /// When the first held frame was written, and the sequence number of its request.
    since: Option<Instant>,
    first: u32,
    /// Number of requests in quick succession, and the time of the last one.
    streak: u32,
    last_request: Option<Instant>,
    /// True if a request was written since the last poll.
    has_posted: bool,
    /// Number of consecutive polls that followed a request.
    alternations: u32,
}

impl Coalescing {
    /// A request is being written. Returns true if it is part of a burst.
    pub(super) fn note_request(&mut self) -> bool {
        let now = clock::now();
        let last = self.last_request.replace(now);
        let is_close = last.is_some_and(|last| now.saturating_duration_since(last) <= MAX_GAP);
        self.streak = if is_close { self.streak.saturating_add(1) } else { 0 };
        self.has_posted = true;
        self.streak >= MIN_STREAK
    }

    /// The consumer polls. Returns true if held frames may wait longer.
    fn note_poll(&mut self) -> bool {
        let has_posted = std::mem::take(&mut self.has_posted);
        self.alternations = if has_posted { self.alternations.saturating_add(1) } else { 0 };
        self.alternations >= MIN_ALTERNATIONS
            && self
                .since
                .is_some_and(|since| clock::now().saturating_duration_since(since) < MAX_HOLD)
    }
}

impl Coalescing {
    /// The link has written or held everything up to the frame of a request.
    #[inline]
    pub(super) fn set_holding(&mut self, held: Option<u32>) {
        if let (Some(number), false) = (held, self.is_holding) {
            self.since = Some(clock::now());
            self.first = number;
        }
        self.is_holding = held.is_some();
    }

    /// Returns true if the link holds frames.
    pub(super) const fn is_holding(&self) -> bool {
        self.is_holding
    }

    /// A poll has found nothing, and `executed` requests are complete. Returns true if the held frames must be sent:
    /// always, unless the consumer posts in quick succession and earlier requests are in flight.
    #[inline]
    pub(super) fn is_due(&mut self, executed: u32) -> bool {
        self.is_holding && (!self.note_poll() || executed == self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_requests_of_a_burst_are_sent_one_by_one() {
        let mut coalescing = Coalescing::default();
        let held = (0..=MIN_STREAK + 1).map(|_| coalescing.note_request()).position(|held| held);
        assert_eq!(held, Some(MIN_STREAK as usize));
        coalescing.last_request = Instant::now().checked_sub(MAX_GAP * 2);
        assert!(!coalescing.note_request(), "the burst has ended");
    }

    #[test]
    fn a_poll_without_a_post_before_it_sends() {
        let since = Some(Instant::now() + Duration::from_secs(60));
        let mut coalescing = Coalescing { since, ..Coalescing::default() };
        for _ in 0..MIN_ALTERNATIONS {
            assert!(!coalescing.note_poll());
            coalescing.note_request();
        }
        assert!(coalescing.note_poll());
        coalescing.note_request();
        coalescing.since = Instant::now().checked_sub(MAX_HOLD);
        assert!(!coalescing.note_poll(), "held for too long");
        coalescing.since = since;
        assert!(!coalescing.note_poll(), "no post before it");
    }
}
