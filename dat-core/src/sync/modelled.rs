//! The locks of the models, with the part of the API that the crate uses.

use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

use dat_sync::futex::Expected;
use loom::sync::atomic::{AtomicBool, Ordering};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::blocking::SleepResult;

const NO_PANIC: &str = "no model goes on after a panic";

/// A word to sleep on, like [`WakeWord`](super::sleep::WakeWord). The count is read under the
/// lock of its wakers, so only the sleep and the wake-up are switching points for loom.
#[derive(Debug, Default)]
pub(crate) struct WakeWord {
    count: AtomicU32,
    sleepers: loom::sync::Mutex<()>,
    changed: loom::sync::Condvar,
}

impl WakeWord {
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    pub(crate) fn wake_one(&self) {
        self.wake(loom::sync::Condvar::notify_one);
    }

    pub(crate) fn wake_all(&self) {
        self.wake(loom::sync::Condvar::notify_all);
    }

    fn wake(&self, notify: impl FnOnce(&loom::sync::Condvar)) {
        let _sleepers = self.sleepers.lock().expect(NO_PANIC);
        self.count.fetch_add(1, Ordering::Relaxed);
        notify(&self.changed);
    }

    /// A model has no clock: a deadline expires at once, which is the time at which a simultaneous
    /// wake-up is most easily missed.
    pub(crate) fn sleep(&self, seen: u32, deadline: Option<Instant>) -> bool {
        if deadline.is_some() {
            // Other threads may take the locks before the sleeper does.
            loom::thread::yield_now();
            return self.count() != seen;
        }
        let mut sleepers = self.sleepers.lock().expect(NO_PANIC);
        while self.count() == seen {
            sleepers = self.changed.wait(sleepers).expect(NO_PANIC);
        }
        true
    }

    /// Waits until the count or the other word has another value. Only the wake-ups are switching points, as for
    /// [`await_readable`].
    pub(crate) fn sleep_with(
        &self,
        seen: u32,
        shared: Expected<'_>,
        deadline: Option<Instant>,
    ) -> SleepResult {
        loop {
            loom::thread::yield_now();
            if self.count() != seen || shared.word.load(Ordering::Relaxed) != shared.seen {
                return SleepResult::Woken;
            }
            if deadline.is_some() {
                return SleepResult::TimedOut;
            }
        }
    }
}

/// A value that is initialised once, under a lock of its user, and read without it.
#[derive(Debug)]
pub(crate) struct LateInit<T> {
    is_there: AtomicBool,
    value: OnceLock<T>,
}

impl<T> Default for LateInit<T> {
    fn default() -> Self {
        Self { is_there: AtomicBool::new(false), value: OnceLock::new() }
    }
}

impl<T> LateInit<T> {
    pub(crate) fn get(&self) -> Option<&T> {
        if self.is_there.load(Ordering::Acquire) { self.value.get() } else { None }
    }

    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        let value = self.value.get_or_init(make);
        self.is_there.store(true, Ordering::Release);
        value
    }
}

/// Waits until the wakeup or the other descriptor is readable. A deadline expires at once, as in
/// [`WakeWord::sleep`].
pub(crate) fn await_readable(
    wakeup: BorrowedFd<'_>,
    beside: BorrowedFd<'_>,
    deadline: Option<Instant>,
) -> SleepResult {
    // A thread that signals at the same time may run first.
    loom::thread::yield_now();
    loop {
        let mut both = [wakeup, beside].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        if poll(&mut both, PollTimeout::ZERO).is_ok_and(|found| found > 0) {
            return SleepResult::Woken;
        }
        if deadline.is_some() {
            return SleepResult::TimedOut;
        }
        // A wake-up that never comes exceeds loom's limit of iterations.
        loom::thread::yield_now();
    }
}
