//! A word of memory that threads sleep on.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use rustix::io::Errno;
use rustix::thread::futex;

use crate::blocking::time_left;

/// Counts wake-ups. A waiter reads the count under the lock that its wakers hold, releases the lock
/// and sleeps while the count is unchanged, so it misses no wake-up.
///
/// The sleep uses system calls directly and not functions of the C library, so it is not a
/// cancellation point (pthreads(7)) for a C thread.
#[derive(Debug, Default)]
pub(crate) struct WakeWord(AtomicU32);

impl WakeWord {
    /// The count, which must be read under the lock of the wakers.
    pub(crate) fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// The word, for a waiter that makes its own system call.
    pub(crate) fn word(&self) -> &AtomicU32 {
        &self.0
    }

    pub(crate) fn wake_one(&self) {
        self.wake(1);
    }

    pub(crate) fn wake_all(&self) {
        self.wake(i32::MAX as u32);
    }

    fn wake(&self, most: u32) {
        self.0.fetch_add(1, Ordering::Relaxed);
        // It fails only for an invalid address.
        let _ = futex::wake(&self.0, futex::Flags::PRIVATE, most);
    }

    /// Sleeps while the count is `seen`; returns `false` if the deadline expired first.
    pub(crate) fn sleep(&self, seen: u32, deadline: Option<Instant>) -> bool {
        while self.count() == seen {
            let left = time_left(deadline).map(|left| left.try_into().unwrap_or(LONG));
            // Other errors mean a handled signal, or a count that changed before the sleep.
            let slept = futex::wait(&self.0, futex::Flags::PRIVATE, seen, left.as_ref());
            if slept == Err(Errno::TIMEDOUT) {
                return false;
            }
        }
        true
    }
}

/// One day, for a time too long for a `Timespec`.
const LONG: futex::Timespec = futex::Timespec { tv_sec: 86_400, tv_nsec: 0 };
