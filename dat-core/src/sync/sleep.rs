//! The objects on which threads sleep: a word of memory, or descriptors.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use dat_sync::futex::{self as two_words, Expected, WordPair};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::thread::futex;

use crate::blocking::{SleepResult, time_left};

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
        // Relaxed: the lock of the wakers orders it, and the kernel compares the word again.
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

    /// As [`sleep`](Self::sleep), but ends if the other word, which another process changes, has another value, too.
    pub(crate) fn sleep_with(
        &self,
        seen: u32,
        shared: Expected<'_>,
        deadline: Option<Instant>,
    ) -> SleepResult {
        let words = WordPair { own: Expected { word: &self.0, seen }, shared };
        loop {
            match two_words::wait(&words, time_left(deadline)) {
                Ok(()) | Err(Errno::AGAIN) => return SleepResult::Woken,
                Err(Errno::TIMEDOUT) => return SleepResult::TimedOut,
                Err(Errno::INTR) => {}
                Err(_) => return SleepResult::Unavailable,
            }
        }
    }
}

/// Sleeps until the wakeup or the other descriptor is readable, or until the deadline. Signals
/// handled during the sleep do not end it.
pub(crate) fn await_readable(
    wakeup: BorrowedFd<'_>,
    beside: BorrowedFd<'_>,
    deadline: Option<Instant>,
) -> SleepResult {
    loop {
        let left = time_left(deadline).map(|left| Timespec::try_from(left).unwrap_or(LONG));
        let mut both = [wakeup, beside].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let found = poll(&mut both, left.as_ref());
        let shows = |index: usize, flags| both[index].revents().intersects(flags);
        let broken = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
        match found {
            Ok(0) => return SleepResult::TimedOut,
            Ok(_) if shows(0, PollFlags::IN) || shows(1, PollFlags::IN) => {
                return SleepResult::Woken;
            }
            // The device is gone, or the program has closed a descriptor that is not its own.
            Ok(_) if shows(0, broken) || shows(1, broken) => return SleepResult::Unavailable,
            Err(Errno::INTR) | Ok(_) => {}
            Err(_) => return SleepResult::Unavailable,
        }
    }
}

/// One day, for a time too long for a `Timespec`.
const LONG: Timespec = Timespec { tv_sec: 86_400, tv_nsec: 0 };
