//! Waits in steps, for a caller that has to sleep in its own stack frame.
//!
//! The C libraries are such callers: a C thread may be cancelled while it sleeps. Its stack is then
//! unwound, and no Rust frame with a destructor may be in the way. So the wait returns what the
//! thread has to sleep on, and keeps nothing on the stack except the blocked wait. Dropping that
//! abandons the wait.

use std::cell::OnceCell;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use dat_sync::clock;
pub use dat_sync::futex::{Expected, WordPair};

pub use crate::cno::BlockedCnoWait;
pub use crate::evd::BlockedEvdWait;
use crate::timeout::Timeout;

/// The deadline of a wait. It is determined late: a wait that ends soon never reads the clock.
#[derive(Debug)]
pub struct WaitDeadline {
    timeout: Timeout,
    deadline: OnceCell<Option<Instant>>,
}

impl WaitDeadline {
    /// A time-out that has not started.
    #[must_use]
    pub const fn new(timeout: Timeout) -> Self {
        Self { timeout, deadline: OnceCell::new() }
    }

    pub(crate) const fn timeout(&self) -> Timeout {
        self.timeout
    }

    /// Starts the time-out, unless it has started.
    pub(crate) fn start(&self) {
        let _ = self.instant();
    }

    /// When the time-out expires; `None` if it never does.
    pub(crate) fn instant(&self) -> Option<Instant> {
        *self.deadline.get_or_init(|| self.timeout.deadline())
    }
}

/// The progress of a wait.
#[derive(Debug)]
pub enum WaitStep<T, B> {
    /// It has ended, with this result.
    Done(T),
    /// The thread has to sleep.
    Blocked(B),
}

/// The object on which a blocked thread sleeps.
#[derive(Debug)]
pub enum SleepOn<'a> {
    /// A word, with futex(2) and private to the process, while its value is `seen`.
    #[cfg(not(all(test, loom)))]
    Word {
        /// The word.
        word: &'a std::sync::atomic::AtomicU32,
        /// The value that the waiter read from it.
        seen: u32,
    },
    /// Two words, with futex_waitv(2), while each has its value. The second is shared with another process.
    #[cfg(not(all(test, loom)))]
    Words(WordPair<'a>),
    /// Two descriptors, with poll(2), until one of them is readable. The second belongs to a
    /// device.
    Descriptors([BorrowedFd<'a>; 2]),
}

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepResult {
    /// Something may have happened. A spurious wake-up is harmless.
    Woken,
    /// The deadline passed.
    TimedOut,
    /// The second descriptor will never be readable, or cannot be polled; or the system refuses to sleep on two words.
    Unavailable,
}

/// The time left until a deadline; `None` if there is no deadline.
pub(crate) fn time_left(deadline: Option<Instant>) -> Option<Duration> {
    deadline.map(|at| at.saturating_duration_since(clock::now()))
}
