//! Completion queues.

use std::any::Any;
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::error::Result;
use crate::status::{DtoStatus, Operation};

/// One finished operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The tag of the queue pair, as its specification gave it.
    pub tag: u64,
    /// The cookie of the post.
    pub cookie: u64,
    /// The bytes moved; of meaning for a success only.
    pub length: u64,
    /// What more the operation gives: the tag of the window for a bind, the key that was made
    /// invalid for a receive with invalidate, the data of a receive with immediate; else 0.
    pub extra: u64,
    /// Which operation it was; known for failures too.
    pub operation: Operation,
    /// How it ended.
    pub status: DtoStatus,
}

/// What most completions are: the success of a send, an RDMA write, an RDMA read or a receive, of
/// less than 4 GiB and with nothing extra. In memory it is what `DAT_DTO_COMPLETION_EVENT_DATA` of
/// DAT 2.0 is, and any bits are a value, so that it can be written where C wants it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Success {
    #[doc(hidden)]
    pub tag: u64,
    #[doc(hidden)]
    pub cookie: u64,
    /// The status, which is 0, and the length.
    #[doc(hidden)]
    pub outcome: u64,
    /// The operation, and what is extra, which is 0.
    #[doc(hidden)]
    pub operation: u64,
}

/// Two numbers side by side in memory, which are written at once.
#[inline(always)]
const fn pair(first: u32, second: u32) -> u64 {
    if cfg!(target_endian = "little") {
        first as u64 | (second as u64) << 32
    } else {
        (first as u64) << 32 | second as u64
    }
}

/// The first and the second of a pair.
#[doc(hidden)]
#[must_use]
pub const fn parts(pair: u64) -> (u32, u32) {
    let (low, high) = (pair as u32, (pair >> 32) as u32);
    if cfg!(target_endian = "little") { (low, high) } else { (high, low) }
}

impl Success {
    /// Whether the success of an operation can be told by one, where there is nothing extra.
    #[inline(always)]
    #[must_use]
    pub const fn tells(operation: Operation, length: u64) -> bool {
        operation as u32 <= Operation::Receive as u32 && length <= u32::MAX as u64
    }

    /// Becomes another, of which [`tells`](Self::tells) says that it can: tag, cookie, length and
    /// the number of the operation, as [`Completion`] has them.
    #[inline(always)]
    pub fn set(&mut self, tag: u64, cookie: u64, length: u32, operation: u32) {
        *self = Self { tag, cookie, outcome: pair(0, length), operation: pair(operation, 0) };
    }
}

/// What [`CompletionPoller::take`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// No completion.
    Nothing,
    /// A success, which was taken.
    Success,
    /// Perhaps something, of which nothing was taken: [`CompletionPoller::poll`] tells.
    Other,
}

/// The two halves of a completion queue: queue pairs refer to one, the event dispatcher owns
/// the other, so that polling needs no lock of the provider's.
pub struct CompletionQueueParts {
    /// What queue pairs are made with.
    pub queue: Arc<dyn CompletionQueue>,
    /// What completions are taken from.
    pub poller: Box<dyn CompletionPoller>,
}

impl std::fmt::Debug for CompletionQueueParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompletionQueueParts").finish_non_exhaustive()
    }
}

/// The half of a completion queue that queue pairs are made with.
pub trait CompletionQueue: Send + Sync {
    /// Itself, so that the provider finds its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// Which arrivals make an upcall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notify {
    /// None: nobody sleeps.
    #[default]
    Off,
    /// Every completion but the unsignalled ones; errors always count.
    Signalled,
    /// Completions of receives whose send asked for it, and errors.
    Solicited,
}

/// Features of a completion that decide over its notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompletionFeatures {
    /// The consumer asked for no notification.
    pub unsignalled: bool,
    /// The sender asked for a notification.
    pub solicited: bool,
    /// The operation failed.
    pub failed: bool,
}

impl Notify {
    /// Whether a completion with these features makes an upcall.
    #[must_use]
    pub const fn wants(self, features: CompletionFeatures) -> bool {
        match self {
            Self::Off => false,
            Self::Signalled => features.failed || !features.unsignalled,
            Self::Solicited => features.failed || features.solicited,
        }
    }
}

/// A descriptor that is readable when completions arrived; see [`CompletionPoller::descriptor`].
pub type CompletionDescriptor = Arc<dyn AsFd + Send + Sync>;

/// The half of a completion queue that its event dispatcher owns.
pub trait CompletionPoller: Send {
    /// Takes the oldest completions into the slice and returns how many.
    fn poll(&mut self, into: &mut [Completion]) -> usize;

    /// Takes the oldest completion, if it is what most are; only then the place is written. It
    /// saves a dequeue what [`poll`](Self::poll) costs. The default leaves everything to that.
    fn take(&mut self, into: &mut Success) -> Taken {
        let _ = into;
        Taken::Other
    }

    /// Sets which arrivals make an upcall from now on. Returns whether completions are
    /// waiting already: an arrival either is seen by that answer or makes its upcall.
    fn notify(&mut self, mode: Notify) -> bool;

    /// The descriptor at which arrivals show, where the transport has one on which a waiter can
    /// sleep itself: nobody else has to be woken first. Asked once, before anything else; the
    /// dispatcher may keep it for longer than the poller. None by default.
    fn descriptor(&mut self) -> Option<CompletionDescriptor> {
        None
    }

    /// As [`notify`](Self::notify) of [`Notify::Signalled`], for a waiter that is about to poll
    /// and then to sleep on the descriptor: until `notify` or this is called again, an arrival
    /// that the poll did not find makes it readable or makes an upcall. What made it readable
    /// before this call does so no more; it may be readable in vain. Called only where there is a
    /// descriptor, and only where any completion ends the sleep.
    fn watch(&mut self) {
        self.notify(Notify::Signalled);
    }

    /// Makes room for at least `depth` completions; none is lost.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` when the device has no queue that long,
    /// `DAT_INVALID_STATE` when more completions are waiting than would fit.
    fn resize(&mut self, depth: usize) -> Result<()>;
}

/// Where a completion queue reports.
pub trait CompletionSink: Send + Sync {
    /// A completion arrived that the mode set by [`CompletionPoller::notify`] asks for.
    fn completion_ready(&self);

    /// A completion found no room.
    fn completion_overflow(&self);
}
