//! Sleeps on two words at once, one of which another process changes: futex_waitv(2), of Linux 5.16.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::io::{Errno, Result};
use rustix::thread::futex::{self, Flags, Wait, WaitFlags, WaitPtr, WaitvFlags};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::{Lazy, clock};

/// A word, and the value while which a thread sleeps on it.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The word.
    pub word: &'a AtomicU32,
    /// The value that the sleeper has read.
    pub seen: u32,
}

/// The two words of a sleep.
#[derive(Clone, Copy, Debug)]
pub struct WordPair<'a> {
    /// Only threads of this process wake the sleeper by it.
    pub own: Expected<'a>,
    /// In memory that processes share.
    pub shared: Expected<'a>,
}

/// Returns true if threads of this process can sleep on two words. A simulation, whose clock does not move during a
/// sleep, has none that do.
#[must_use]
pub fn is_available() -> bool {
    static AVAILABLE: Lazy<bool> = Lazy::new(|| {
        let word = AtomicU32::new(0);
        let other = Expected { word: &word, seen: 1 };
        wait(&WordPair { own: other, shared: other }, None) == Err(Errno::AGAIN)
    });
    !clock::is_simulated() && *AVAILABLE
}

/// The time of `CLOCK_MONOTONIC` after this duration.
#[must_use]
pub fn time_after(left: Duration) -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default().saturating_add(left)
}

/// Sleeps while both words have the values, for at most this time.
///
/// # Errors
/// `AGAIN` if one has another value, `INTR` after a signal, `TIMEDOUT`, and any other error if the kernel or a sandbox
/// refuses the call.
pub fn wait(words: &WordPair<'_>, left: Option<Duration>) -> Result<()> {
    let waiter = |expected: &Expected<'_>, flags| {
        let mut waiter = Wait::new();
        waiter.val = expected.seen.into();
        waiter.uaddr = WaitPtr::new(expected.word.as_ptr().cast());
        waiter.flags = WaitFlags::SIZE_U32 | flags;
        waiter
    };
    let waiters =
        [waiter(&words.own, WaitFlags::PRIVATE), waiter(&words.shared, WaitFlags::empty())];
    // A time too long for the system has no end.
    let until = left.and_then(|left| Timespec::try_from(time_after(left)).ok());
    let flags = WaitvFlags::empty();
    futex::waitv(&waiters, flags, until.as_ref(), ClockId::Monotonic).map(drop)
}

/// Wakes the thread that sleeps on a word in memory that processes share. It was changed before.
pub fn wake_shared(word: &AtomicU32) {
    // It fails only for an invalid address.
    let _ = futex::wake(word, Flags::empty(), 1);
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use std::sync::atomic::Ordering;
    use std::thread;

    use super::*;

    const SHORT: Duration = Duration::from_millis(1);
    const LIMIT: Duration = Duration::from_secs(20);

    /// Sleeps until a word changes, however often something else ends a sleep.
    fn until_changed(own: &AtomicU32, shared: &AtomicU32) {
        while own.load(Ordering::Relaxed) == 0 && shared.load(Ordering::Relaxed) == 0 {
            let words = WordPair {
                own: Expected { word: own, seen: 0 },
                shared: Expected { word: shared, seen: 0 },
            };
            assert_ne!(wait(&words, Some(LIMIT)), Err(Errno::TIMEDOUT), "no thread wakes it");
        }
    }

    #[test]
    fn a_change_of_either_word_ends_the_sleep() {
        if !is_available() {
            return println!("NOT RUN: the system has no futex_waitv(2)");
        }
        let wake_own = |own: &AtomicU32, _: &AtomicU32| {
            own.store(1, Ordering::Relaxed);
            let _ = futex::wake(own, Flags::PRIVATE, 1);
        };
        let wake_other = |_: &AtomicU32, shared: &AtomicU32| {
            shared.store(1, Ordering::Relaxed);
            wake_shared(shared);
        };
        for wake in [wake_own, wake_other as fn(&AtomicU32, &AtomicU32)] {
            let (own, shared) = (AtomicU32::new(0), AtomicU32::new(0));
            thread::scope(|scope| {
                scope.spawn(|| until_changed(&own, &shared));
                thread::sleep(SHORT);
                wake(&own, &shared);
            });
        }
    }

    #[test]
    fn a_sleep_ends_at_its_time_or_at_once_if_a_word_has_another_value() {
        if !is_available() {
            return println!("NOT RUN: the system has no futex_waitv(2)");
        }
        let word = AtomicU32::new(7);
        let (seen, other) = (Expected { word: &word, seen: 7 }, Expected { word: &word, seen: 8 });
        let wait = |own, shared, left| wait(&WordPair { own, shared }, left);
        assert_eq!(wait(seen, seen, Some(SHORT)), Err(Errno::TIMEDOUT));
        assert_eq!(wait(seen, other, None), Err(Errno::AGAIN));
        assert_eq!(wait(other, seen, None), Err(Errno::AGAIN));
        assert_eq!(wait(other, seen, Some(Duration::MAX)), Err(Errno::AGAIN));
    }
}
