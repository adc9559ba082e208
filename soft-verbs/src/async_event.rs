//! Asynchronous events.

use std::os::fd::{AsFd, BorrowedFd};

use crate::error::Result;
use crate::events::EventQueue;

/// The type of an asynchronous event (`ibv_event_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum AsyncEventType {
    /// A completion queue overflowed.
    CompletionQueueError = 0,
    /// A queue pair cannot report its failure as a completion.
    QueuePairFatal = 1,
    /// A request of the peer was not valid.
    QueuePairRequestError = 2,
    /// A request of the peer was refused because of its access.
    QueuePairAccessError = 3,
    /// Something arrived on a queue pair in the state RTR.
    CommunicationEstablished = 4,
    /// The requests posted before the state SQD have completed.
    SendQueueDrained = 5,
    /// The device cannot be used any more.
    DeviceFatal = 8,
    /// A shared receive queue has fewer receives than its limit.
    SharedReceiveLimitReached = 15,
    /// A queue pair in the state ERR takes nothing more from its shared receive queue.
    LastWorkRequestReached = 16,
}

/// The object of an event, by the `user` value that it was created with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AsyncElement {
    /// A completion queue.
    CompletionQueue(u64),
    /// A queue pair.
    QueuePair(u64),
    /// A shared receive queue.
    SharedReceiveQueue(u64),
    /// The device.
    Device,
}

/// An asynchronous event (ibv_get_async_event(3)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncEvent {
    /// The type of the event.
    pub kind: AsyncEventType,
    /// Where.
    pub element: AsyncElement,
}

/// The asynchronous events of a context, in order.
#[derive(Debug)]
pub struct AsyncEvents(EventQueue<AsyncEvent>);

impl AsyncEvents {
    pub(crate) fn new() -> Result<Self> {
        EventQueue::new().map(Self)
    }

    /// A descriptor that is readable while there are events.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Takes the oldest event, and waits for one unless the descriptor is non-blocking. The taker of an event counts what
    /// is not acknowledged: an object is to be destroyed only after that.
    ///
    /// # Errors
    /// `EAGAIN` if there is none and the descriptor is non-blocking, `EINTR` after a signal.
    pub fn next(&self) -> Result<AsyncEvent> {
        self.next_counted(|_| ())
    }

    /// As [`next`](Self::next). `count` is called before a thread that destroys the object meanwhile returns, as by
    /// [`CompletionChannel::next_counted`](crate::CompletionChannel::next_counted).
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn next_counted(&self, count: impl Fn(&AsyncEvent)) -> Result<AsyncEvent> {
        self.0.next(count, None)
    }

    pub(crate) fn push(&self, kind: AsyncEventType, element: AsyncElement) {
        self.0.push(AsyncEvent { kind, element });
    }

    /// Drops the events of an object that is destroyed.
    pub(crate) fn remove(&self, element: AsyncElement) {
        self.0.remove(|event| event.element == element);
    }
}
