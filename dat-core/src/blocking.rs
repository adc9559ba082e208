//! Waits in steps, for a caller that has to sleep in a frame of its own.
//!
//! The C libraries are such a caller: a thread of C may be cancelled while it sleeps, and its stack
//! is then unwound, which no frame of Rust that has something to drop may meet. So the wait hands
//! back what the thread has to sleep on, and nothing of it is left on the stack but the blocked
//! wait. To give up the wait, drop that.

use std::cell::OnceCell;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

pub use crate::cno::BlockedCnoWait;
pub use crate::evd::BlockedEvdWait;
use crate::timeout::Timeout;

/// A time-out, and when it began to count: a wait that ends soon needs no look at the clock.
#[derive(Debug)]
pub struct WaitClock {
    timeout: Timeout,
    deadline: OnceCell<Option<Instant>>,
}

impl WaitClock {
    /// One that has not begun to count.
    #[must_use]
    pub const fn new(timeout: Timeout) -> Self {
        Self { timeout, deadline: OnceCell::new() }
    }

    pub(crate) const fn timeout(&self) -> Timeout {
        self.timeout
    }

    /// Begins to count.
    pub(crate) fn start(&self) {
        let _ = self.deadline();
    }

    /// When the time-out is over; never if there is none.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        *self.deadline.get_or_init(|| self.timeout.deadline())
    }
}

/// How far a wait has come.
#[derive(Debug)]
pub enum WaitStep<T, B> {
    /// It has ended, with this result.
    Done(T),
    /// The thread has to sleep.
    Blocked(B),
}

/// What a blocked thread sleeps on.
#[derive(Debug)]
pub enum SleepOn<'a> {
    /// A word, with futex(2), private to the process: while it has the value `seen`.
    #[cfg(not(all(test, loom)))]
    Word {
        /// The word.
        word: &'a std::sync::atomic::AtomicU32,
        /// What the waiter saw in it.
        seen: u32,
    },
    /// Two descriptors, with poll(2): until one of them is readable. The second is that of a
    /// device.
    Descriptors([BorrowedFd<'a>; 2]),
}

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitOutcome {
    /// Something may have happened. To say so in vain is harmless.
    Woken,
    /// The deadline passed.
    TimedOut,
    /// The second descriptor will never be readable, or it can't be polled.
    Unavailable,
}

/// The time that is left until a deadline; none for a deadline that never comes.
pub(crate) fn time_left(deadline: Option<Instant>) -> Option<Duration> {
    deadline.map(|at| at.saturating_duration_since(Instant::now()))
}
