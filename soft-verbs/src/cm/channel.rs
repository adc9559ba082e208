//! Event channels.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::Identifier;
use super::event::{Event, Queued};
use crate::error::Result;
use crate::events::EventQueue;

/// A channel that reports the events of identifiers (rdma_create_event_channel(3)). Its descriptor is readable while
/// there are any.
pub struct EventChannel {
    events: EventQueue<Queued>,
}

impl EventChannel {
    /// Creates a channel.
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE` if there is no descriptor left.
    pub fn new() -> Result<Arc<Self>> {
        Ok(Arc::new(Self { events: EventQueue::new()? }))
    }

    /// Takes the next event, and waits for one unless the descriptor is non-blocking (rdma_get_cm_event(3)). Queue pairs
    /// change their state here: that of an accepted request gets ready to send.
    ///
    /// # Errors
    /// `EAGAIN` if there is none and the descriptor is non-blocking, `EINTR` after a signal.
    pub fn next(&self) -> Result<Event> {
        loop {
            let queued = self.events.next(|_| {}, None)?;
            let target = queued.target.upgrade();
            if let Some(event) = target.and_then(|target| target.complete(queued)) {
                return Ok(event);
            }
        }
    }

    /// Takes the next event, if there is one.
    #[must_use]
    pub fn try_next(&self) -> Option<Event> {
        loop {
            let queued = self.events.take(|_| {})?;
            let target = queued.target.upgrade();
            if let Some(event) = target.and_then(|target| target.complete(queued)) {
                return Some(event);
            }
        }
    }

    pub(super) fn push(&self, event: Queued) {
        self.events.push(event);
    }

    /// Drops the events of an identifier that is destroyed.
    pub(super) fn remove(&self, identifier: &Identifier) {
        drop(self.extract(identifier));
    }

    /// Takes the events of an identifier that moves to another channel.
    pub(super) fn extract(&self, identifier: &Identifier) -> Vec<Queued> {
        self.events.extract(|event| std::ptr::eq(event.target.as_ptr(), identifier))
    }
}

impl AsFd for EventChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

impl std::fmt::Debug for EventChannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EventChannel({:?})", self.events.as_fd())
    }
}
