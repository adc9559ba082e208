//! The locks of the models, with as much of the API as the crate uses.

use std::ops::{Deref, DerefMut};
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::time::Instant;

use loom::sync::atomic::{AtomicBool, Ordering};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::signal::Slept;

/// A mutex that no panic poisons: a model ends with the first.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T> {
    inner: loom::sync::Mutex<T>,
}

/// The lock is held; the guard is away only while a condition is waited for.
pub(crate) struct MutexGuard<'a, T> {
    lock: &'a Mutex<T>,
    guard: Option<loom::sync::MutexGuard<'a, T>>,
}

const HELD: &str = "the lock is held outside of waits";
const NO_PANIC: &str = "no model goes on after a panic";

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { inner: loom::sync::Mutex::new(value) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { lock: self, guard: Some(self.acquire()) }
    }

    /// As [`BiasedLock`](crate::biased::BiasedLock), which it stands for.
    pub(crate) fn lock_as_owner(&self) -> Option<MutexGuard<'_, T>> {
        Some(self.lock())
    }

    fn acquire(&self) -> loom::sync::MutexGuard<'_, T> {
        self.inner.lock().expect(NO_PANIC)
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().expect(HELD)
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect(HELD)
    }
}

/// A condition variable.
#[derive(Debug, Default)]
pub(crate) struct Condvar {
    inner: loom::sync::Condvar,
}

/// How a wait with a deadline ended.
pub(crate) struct WaitTimeoutResult;

impl WaitTimeoutResult {
    /// Always: see [`Condvar::wait_until`].
    #[expect(clippy::unused_self, reason = "the API that it stands in for")]
    pub(crate) fn timed_out(&self) -> bool {
        true
    }
}

impl Condvar {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn notify_one(&self) {
        self.inner.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.inner.notify_all();
    }

    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.guard.take().expect(HELD);
        guard.guard = Some(self.inner.wait(held).expect(NO_PANIC));
    }

    /// A model has no clock: the deadline passes at once, which is when a waker that comes at the
    /// same time is easiest to miss. Others may take the lock before that.
    pub(crate) fn wait_until<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        _deadline: Instant,
    ) -> WaitTimeoutResult {
        drop(guard.guard.take().expect(HELD));
        guard.guard = Some(guard.lock.acquire());
        WaitTimeoutResult
    }
}

/// A value that is made once, under a lock of its user's, and looked at without it.
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

/// Lets another thread get on that this one waits for without a lock.
pub(crate) fn pause(_turn: &mut u32) {
    loom::thread::yield_now();
}

/// Waits until the bell or what is beside it is readable. A deadline passes at once, as that of
/// [`Condvar::wait_until`] does.
pub(crate) fn await_readable(
    bell: BorrowedFd<'_>,
    beside: BorrowedFd<'_>,
    deadline: Option<Instant>,
) -> Slept {
    // Whoever rings at the same time may come first.
    loom::thread::yield_now();
    loop {
        let mut both = [bell, beside].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        if poll(&mut both, PollTimeout::ZERO).is_ok_and(|found| found > 0) {
            return Slept::Woken;
        }
        if deadline.is_some() {
            return Slept::Late;
        }
        // A wake-up that never comes exceeds what a model may do.
        loom::thread::yield_now();
    }
}

/// The slots of a table, as [`Chunks`](crate::pages::Chunks) has them, but few.
#[derive(Debug)]
pub(crate) struct Chunks<T>(Vec<T>);

impl<T: Default> Chunks<T> {
    const SLOTS: usize = 3;

    pub(crate) fn new() -> Self {
        Self((0..Self::SLOTS).map(|_| T::default()).collect())
    }

    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.0.get(index as usize)
    }

    pub(crate) fn make(&self, index: u32) -> Option<&T> {
        self.get(index)
    }
}
