//! The sleep of a waiter on the only connection of its dispatcher, which it reads itself when it wakes up: an arrival
//! wakes no other thread.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;

use dat_sync::descriptors::Beacon;

use crate::blocking::SleepResult;
use crate::claim::{ClaimableProgress, bounded};
use crate::provider::CompletionDescriptor;
use crate::sync::await_readable;

/// The descriptors that the waiter sleeps on.
pub(crate) struct LinkSleep {
    link: CompletionDescriptor,
    wake: Arc<Beacon>,
    /// Keeps the wake-up object for the next sleep.
    progress: Arc<ClaimableProgress>,
}

impl LinkSleep {
    /// A sleep on the descriptor that [`begin_sleep`](crate::provider::CompletionPoller::begin_sleep) has returned;
    /// `None` if the process has no descriptor left.
    pub(crate) fn new(
        progress: &Arc<ClaimableProgress>,
        link: CompletionDescriptor,
    ) -> Option<Self> {
        let wake = progress.take_wake()?;
        Some(Self { link, wake, progress: Arc::clone(progress) })
    }

    /// The same on the descriptor of the next sleep.
    pub(crate) fn set_link(&mut self, link: CompletionDescriptor) {
        self.link = link;
    }

    /// The descriptor that another thread makes readable to wake the waiter.
    pub(crate) fn wake(&self) -> &Arc<Beacon> {
        &self.wake
    }

    /// Sleeps until a wake-up, an arrival or the deadline. The sleep was announced.
    pub(crate) fn sleep(&self, deadline: Option<Instant>) -> SleepResult {
        let [own, link] = self.descriptors();
        await_readable(own, link, bounded(deadline))
    }

    /// The descriptors to sleep on: [`wake`](Self::wake), and the connection.
    pub(crate) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.wake.as_fd(), self.link.as_fd()]
    }
}

impl Drop for LinkSleep {
    fn drop(&mut self) {
        self.progress.return_wake(Arc::clone(&self.wake));
    }
}
