//! The failure of an adapter whose descriptors the program has closed, as daemons do with all that they did not open.
//!
//! The number of a closed descriptor may denote a file of the program, so the adapter makes no more calls with its
//! descriptors: it breaks its connections, reports that it cannot be used any more, and waits until it is closed. The
//! thread that sleeps on the descriptors cannot be woken any more, so that another one takes its place. That one sleeps
//! on a word of memory.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use dat_provider::error::{Error, ReturnType, Subtype};
use dat_sync::clock;
use rustix::io::Errno;
use rustix::thread::futex;

/// The thread of an adapter that may fail.
pub(super) trait Successor: Send + Sync {
    /// Starts the thread that takes the place of the first one. If that is not possible, the first one goes on when its
    /// sleep ends.
    fn succeed(self: Arc<Self>);
}

/// Whether the adapter has failed, and the word on which its thread sleeps then.
#[derive(Default)]
pub(super) struct Failure {
    errno: OnceLock<Errno>,
    wake_ups: AtomicU32,
}

impl Failure {
    /// The adapter fails now.
    pub(super) fn begin(&self, errno: Errno) {
        let _ = self.errno.set(errno);
    }

    #[inline]
    pub(super) fn has_happened(&self) -> bool {
        self.errno.get().is_some()
    }

    /// The error of later calls, if the adapter has failed.
    pub(super) fn error(&self) -> Option<Error> {
        let errno = self.errno.get()?;
        Some(
            Error::new(ReturnType::InternalError, Subtype::NoSubtype)
                .because("the program has closed descriptors of the adapter, which cannot be used any more")
                .errno(errno.raw_os_error())
                .advise("close only descriptors that the program has opened; close the adapter and open it again"),
        )
    }

    pub(super) fn wake(&self) {
        self.wake_ups.fetch_add(1, Ordering::Release);
        // It fails only for an invalid address.
        let _ = futex::wake(&self.wake_ups, futex::Flags::PRIVATE, 1);
    }

    /// Sleeps until `take_signal` returns true, which it does after a wake-up, or until the deadline.
    pub(super) fn sleep(&self, deadline: Option<Instant>, take_signal: impl Fn() -> bool) {
        /// For a time too long for the system.
        const DAY: Duration = Duration::from_secs(86_400);
        loop {
            let seen = self.wake_ups.load(Ordering::Acquire);
            let left = deadline.map(|due| due.saturating_duration_since(clock::now()).min(DAY));
            if take_signal() || left == Some(Duration::ZERO) {
                return;
            }
            let left = left.and_then(|left| futex::Timespec::try_from(left).ok());
            let _ = futex::wait(&self.wake_ups, futex::Flags::PRIVATE, seen, left.as_ref());
        }
    }
}
