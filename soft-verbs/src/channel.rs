//! Completion channels.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use crate::context::Context;
use crate::error::Result;
use crate::events::EventQueue;
use crate::in_use::{Use, UseCount};

/// A completion channel (ibv_create_comp_channel(3)): the events of completion queues that request them.
pub struct CompletionChannel {
    context: Arc<Context>,
    /// The `user` values of the queues.
    events: EventQueue<u64>,
    uses: UseCount,
}

impl CompletionChannel {
    pub(crate) fn create(context: &Arc<Context>) -> Result<Arc<Self>> {
        let context = Arc::clone(context);
        Ok(Arc::new(Self { context, events: EventQueue::new()?, uses: UseCount::default() }))
    }

    /// Its context.
    #[must_use]
    pub const fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// A descriptor that is readable while there are events. The program may make it non-blocking.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }

    /// Takes the oldest event, and waits for one unless the descriptor is non-blocking (ibv_get_cq_event(3)). Returns the
    /// `user` value of its completion queue. The taker of an event counts what is not acknowledged: a queue is to be
    /// destroyed only after that.
    ///
    /// # Errors
    /// `EAGAIN` if there is none and the descriptor is non-blocking, `EINTR` after a signal.
    pub fn next(&self) -> Result<u64> {
        self.next_counted(|_| ())
    }

    /// As [`next`](Self::next). `count` is called with the value before a thread that destroys the queue meanwhile
    /// returns from [`CompletionQueue::destroy`](crate::CompletionQueue::destroy), so it can wait for what was counted.
    /// It must not use this channel.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn next_counted(&self, count: impl Fn(u64)) -> Result<u64> {
        self.events.next(|user| count(*user), self.context.engine.progress.as_deref())
    }

    pub(crate) fn push(&self, user: u64) {
        self.events.push(user);
    }

    /// Drops the events of a queue that is destroyed.
    pub(crate) fn remove(&self, user: u64) {
        self.events.remove(|event| *event == user);
    }

    pub(crate) fn add_use(&self) -> Result<Use> {
        self.uses.add()
    }

    /// Destroys it (ibv_destroy_comp_channel(3)). Its descriptor is closed when the last reference is dropped.
    ///
    /// # Errors
    /// `EBUSY` while it has completion queues.
    pub fn destroy(&self) -> Result<()> {
        self.uses.end("cannot destroy the completion channel: destroy its completion queues first")
    }
}

impl std::fmt::Debug for CompletionChannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CompletionChannel").field(&self.events).finish()
    }
}
