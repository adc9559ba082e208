//! The clock of the data path, which a simulation can replace.
//!
//! Without a simulation it is the clock of the system. A simulation has one thread, which calls [`simulate`] before it
//! creates anything, and moves the clock by [`advance`].

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The simulated time since [`BASE`], in nanoseconds and at least 1; 0 for the time of the system.
static SIMULATED: AtomicU64 = AtomicU64::new(0);
static BASE: OnceLock<Instant> = OnceLock::new();
/// How long calls have [paused](pause) in a simulation, in nanoseconds.
static PAUSED: AtomicU64 = AtomicU64::new(0);

/// How long a [`pause`] takes in a simulation.
const PAUSE: Duration = Duration::from_micros(100);

/// The time.
#[inline]
#[must_use]
pub fn now() -> Instant {
    match SIMULATED.load(Ordering::Relaxed) {
        0 => Instant::now(),
        elapsed => simulated(elapsed),
    }
}

#[cold]
fn simulated(elapsed: u64) -> Instant {
    *BASE.get_or_init(Instant::now) + Duration::from_nanos(elapsed)
}

/// Lets other threads run, in a loop that waits for a condition or a time.
pub fn pause() {
    if SIMULATED.load(Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    } else {
        PAUSED.fetch_add(PAUSE.as_nanos() as u64, Ordering::Relaxed);
        advance(PAUSE);
    }
}

/// The simulated time without the [pauses](pause) of calls, in which other threads would have run.
#[must_use]
pub fn now_without_pauses() -> Instant {
    now() - Duration::from_nanos(PAUSED.load(Ordering::Relaxed))
}

/// Returns true if the clock is simulated.
#[inline]
#[must_use]
pub fn is_simulated() -> bool {
    SIMULATED.load(Ordering::Relaxed) != 0
}

/// Replaces the clock, for the whole process.
pub fn simulate() {
    let _ = SIMULATED.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
}

/// Moves the simulated time.
pub fn advance(by: Duration) {
    let nanos = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
    SIMULATED.fetch_add(nanos, Ordering::Relaxed);
}
