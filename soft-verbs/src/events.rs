//! Queues of events with a descriptor that is readable while there are any.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use arrayvec::ArrayVec;
use dat_provider::WaiterProgress;
use dat_sync::Mutex;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::Errno;

use crate::error::{Error, Result};

/// A queue of events. The descriptor is an eventfd(2) that counts the queued events, so a program can wait for it with
/// poll(2) or epoll(7), and make it non-blocking with fcntl(2).
#[derive(Debug)]
pub(crate) struct EventQueue<T> {
    descriptor: OwnedFd,
    /// As many as the descriptor counts. Both change under this lock.
    events: Mutex<VecDeque<T>>,
}

impl<T> EventQueue<T> {
    /// An empty queue.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub(crate) fn new() -> Result<Self> {
        let descriptor = eventfd(0, EventfdFlags::SEMAPHORE | EventfdFlags::CLOEXEC)
            .map_err(|error| Error::system("create the descriptor of an event queue", error))?;
        Ok(Self { descriptor, events: Mutex::default() })
    }

    /// Appends an event.
    pub(crate) fn push(&self, event: T) {
        let mut events = self.events.lock();
        // It fails only if the program has closed the descriptor; the event is then found without it.
        let _ = rustix::io::write(&self.descriptor, &1_u64.to_ne_bytes());
        events.push_back(event);
    }

    /// Takes the oldest event, and waits for one if there is none and the descriptor blocks. While it waits, it makes the
    /// progress of the connections, if no other thread does, so that an arrival wakes one thread only. The event is noted before
    /// [`remove`](Self::remove) returns in another thread: what that destroys afterwards knows of it.
    ///
    /// # Errors
    /// `EAGAIN` if there is none and the descriptor is non-blocking, `EINTR` after a signal.
    pub(crate) fn next(
        &self,
        note: impl Fn(&T),
        progress: Option<&dyn WaiterProgress>,
    ) -> Result<T> {
        loop {
            if let Some(event) = self.take(&note) {
                return Ok(event);
            }
            let flags = fcntl_getfl(&self.descriptor)
                .map_err(|error| Error::system("read the flags of the descriptor", error))?;
            if flags.contains(OFlags::NONBLOCK) {
                return Err(Error::plain(libc::EAGAIN, "there is no event"));
            }
            let claim = progress.filter(|progress| progress.claim());
            let waited = self.wait(claim);
            if let Some(claim) = claim {
                claim.release();
            }
            waited?;
        }
    }

    /// Waits until the descriptor is readable, or another thread makes the progress that the caller has claimed.
    fn wait(&self, claim: Option<&dyn WaiterProgress>) -> Result<()> {
        loop {
            let of_claim = claim.map(WaiterProgress::descriptor);
            let mut descriptors: ArrayVec<_, 2> = ArrayVec::new();
            descriptors.push(PollFd::new(&self.descriptor, PollFlags::IN));
            descriptors.extend(of_claim.iter().map(|it| PollFd::new(it, PollFlags::IN)));
            poll(&mut descriptors, None)
                .map_err(|error| Error::system("wait for an event", error))?;
            if descriptors[0].revents().contains(PollFlags::NVAL) {
                return Err(Error::system("wait for an event", Errno::BADF));
            }
            let is_readable = !descriptors[0].revents().is_empty();
            if is_readable || claim.is_some_and(|claim| !claim.advance()) {
                return Ok(());
            }
        }
    }

    /// Takes the oldest event, if there is one.
    pub(crate) fn take(&self, note: impl Fn(&T)) -> Option<T> {
        let mut events = self.events.lock();
        let event = events.pop_front()?;
        note(&event);
        self.count_down();
        Some(event)
    }

    /// Takes the events for which that is true, and keeps the order of all.
    pub(crate) fn extract(&self, is_wanted: impl Fn(&T) -> bool) -> Vec<T> {
        let mut events = self.events.lock();
        let (wanted, others) = std::mem::take(&mut *events).into_iter().partition(is_wanted);
        *events = others;
        let wanted: VecDeque<T> = wanted;
        wanted.iter().for_each(|_| self.count_down());
        wanted.into()
    }

    /// Drops the events that belong to an object which is destroyed.
    pub(crate) fn remove(&self, belongs: impl Fn(&T) -> bool) {
        let mut events = self.events.lock();
        let before = events.len();
        events.retain(|event| !belongs(event));
        for _ in events.len()..before {
            self.count_down();
        }
    }

    /// The caller holds the lock and has taken an event, so the descriptor is readable.
    fn count_down(&self) {
        let _ = rustix::io::read(&self.descriptor, &mut [0; 8]);
    }
}

impl<T> AsFd for EventQueue<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
