//! Failure of an adapter whose descriptors the program has closed, as daemons close all that they did not open.
//!
//! The number of a closed descriptor may denote another file of the program. The adapter therefore stops using its
//! descriptors, breaks its connections, reports the failure and waits to be closed. The thread that sleeps on the
//! descriptors cannot be woken any more, so another one replaces it, which sleeps on a futex.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use dat_provider::error::{Error, ReturnType, Subtype};
use dat_sync::clock;
use rustix::io::Errno;
use rustix::thread::futex;

/// The thread of an adapter that may fail.
pub(super) trait Successor: Send + Sync {
    /// Starts the thread that replaces the first one. If that is not possible, the first one continues when its sleep
    /// ends.
    fn succeed(self: Arc<Self>);
}

/// The state of a failure, and the futex on which the thread then sleeps.
#[derive(Default)]
pub(super) struct Failure {
    errno: OnceLock<Errno>,
    wake_ups: AtomicU32,
}

impl Failure {
    /// Marks the adapter as failed.
    pub(super) fn begin(&self, errno: Errno) {
        let _ = self.errno.set(errno);
    }

    #[inline]
    pub(super) fn has_happened(&self) -> bool {
        self.errno.get().is_some()
    }

    /// The error that later calls return, if the adapter has failed.
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
        // Pairs with `sleep`.
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
