//! The cost of copying through the ring, compared with the kernel's copy between processes.
//!
//! Through the ring both processes copy, at the same time, and the kernel is not called. The kernel copies once, but looks up
//! and pins each page. Which of the two is faster depends on the machine, its mitigations, and on the distance of the two
//! processors, which may change while a connection exists. So the ring is measured while it is used.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::cma;
use crate::ring::PIECE;

/// Of this many choices,
const PERIOD: u32 = 1024;
/// the first ones are the ring although the kernel was faster, so that the cost of the ring is known.
const TRIALS: u32 = 16;
/// One of this many copies is measured,
const SAMPLED: u32 = 4;
/// if it has at least this length, in bytes: the time of a shorter one is not that of its bytes.
const SHORTEST: u64 = 4 << 10;
/// Length of the copy that is measured, in bytes. The call itself takes a small part of it.
const MEASURED: usize = 64 << 10;

/// What this process's copies between its memory and one ring cost. Both halves of a link use it, and its numbers need
/// not agree with each other.
#[derive(Debug, Default)]
pub(crate) struct CopyCost {
    /// Time to copy a piece, in nanoseconds; 0 until it is measured.
    piece: AtomicU32,
    /// Number of copies that might have been measured.
    copies: AtomicU32,
    /// Number of choices for long requests to a peer that polls. A post that could not use the fast path makes a second
    /// choice for its request.
    choices: AtomicU32,
}

impl CopyCost {
    /// Chooses the way of a long request to a peer that polls. Returns true if it is to pass the ring.
    pub(crate) fn prefers_ring(&self) -> bool {
        let is_trial = increment(&self.choices) % PERIOD < TRIALS;
        let piece = self.piece.load(Ordering::Relaxed);
        // As if the copies of both sides overlapped by a half.
        is_trial || piece > 0 && u64::from(piece) * 3 < u64::from(kernel_cost()) * 2
    }

    /// A frame is copied with a payload of this many bytes. Returns the sample if this copy is to be measured.
    #[inline]
    pub(crate) fn begin(&self, payload: u64) -> Option<Sample> {
        if !(SHORTEST..=PIECE).contains(&payload) {
            return None;
        }
        (increment(&self.copies) % SAMPLED == 0).then(|| Sample { begin: Instant::now(), payload })
    }

    /// The payload whose copy began with this sample is copied.
    #[inline]
    pub(crate) fn end(&self, sample: Option<Sample>) {
        let Some(Sample { begin, payload }) = sample else { return };
        let time = nanos(begin.elapsed() * PIECE as u32 / payload as u32);
        // The first copies also bring in the pages of the ring, and the scheduler may interrupt any of them.
        let known = self.piece.load(Ordering::Relaxed);
        let most = if known == 0 { time } else { known.saturating_add(known / 4 + 1) };
        self.piece.store(time.min(most), Ordering::Relaxed);
    }
}

/// A copy that is measured.
pub(crate) struct Sample {
    begin: Instant,
    payload: u64,
}

/// Counts one more, and returns the number before.
fn increment(count: &AtomicU32) -> u32 {
    count.fetch_add(1, Ordering::Relaxed)
}

fn nanos(time: Duration) -> u32 {
    u32::try_from(time.as_nanos()).unwrap_or(u32::MAX).max(1)
}

/// The time in which the kernel copies the length of a piece between processes, in nanoseconds. This process copies from
/// itself, once; if that fails, the ring is not preferred.
fn kernel_cost() -> u32 {
    static COST: OnceLock<u32> = OnceLock::new();
    *COST.get_or_init(|| measure().map_or(0, nanos))
}

fn measure() -> Option<Duration> {
    let [mut from, mut to] = [Vec::new(), Vec::new()];
    for buffer in [&mut from, &mut to] {
        buffer.try_reserve_exact(MEASURED).ok()?;
        buffer.resize(MEASURED, 1_u8);
    }
    let mut best = Duration::MAX;
    for _ in 0..4 {
        let begin = Instant::now();
        cma::copy_own(&from, &mut to).ok()?;
        best = best.min(begin.elapsed());
    }
    Some(best / (MEASURED as u32 / PIECE as u32))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn cost(piece: Duration) -> CopyCost {
        let cost = CopyCost::default();
        cost.piece.store(nanos(piece), Ordering::Relaxed);
        cost.choices.store(TRIALS, Ordering::Relaxed);
        cost
    }

    #[test]
    fn the_kernel_can_be_measured() {
        assert!(measure().is_some_and(|cost| cost > Duration::ZERO));
    }

    #[test]
    fn the_faster_way_is_preferred() {
        assert!(cost(Duration::from_nanos(1)).prefers_ring());
        assert!(!cost(Duration::from_secs(1)).prefers_ring());
    }

    #[test]
    fn the_copies_of_both_sides_count_as_one_and_a_half() {
        let half = u64::from(kernel_cost()) / 2;
        let part = |of_ten: u64| cost(Duration::from_nanos(half * of_ten / 5));
        assert!(part(6).prefers_ring());
        assert!(!part(7).prefers_ring());
    }

    #[test]
    fn the_slower_ring_is_tried_again() {
        let slow = cost(Duration::from_secs(1));
        let tried = (0..3 * PERIOD).filter(|_| slow.prefers_ring()).count();
        assert_eq!(tried as u32, 3 * TRIALS);
    }

    #[test]
    fn one_slow_copy_does_not_hide_that_the_ring_is_fast() {
        let known = cost(Duration::from_nanos(400));
        let begin = Instant::now().checked_sub(Duration::from_millis(4));
        known.end(begin.map(|begin| Sample { begin, payload: PIECE }));
        assert_eq!(known.piece.load(Ordering::Relaxed), 501);
    }

    #[test]
    fn a_short_copy_counts_by_its_length() {
        let cost = CopyCost::default();
        let payload = PIECE / 4;
        let begin = Instant::now().checked_sub(Duration::from_secs(1));
        cost.end(begin.map(|begin| Sample { begin, payload }));
        assert!(cost.piece.load(Ordering::Relaxed) >= 4_000_000_000);
        assert!((0..SAMPLED).all(|_| cost.begin(SHORTEST - 1).is_none()));
        assert_eq!((0..SAMPLED).filter(|_| cost.begin(SHORTEST).is_some()).count(), 1);
    }
}
