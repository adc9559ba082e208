//! Completion queues.

use std::os::fd::AsFd;
use std::sync::Arc;

use super::Downcast;
use crate::error::Result;
use crate::status::{DtoStatus, Operation};

/// A finished operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The tag of the queue pair, as its specification gave it.
    pub tag: u64,
    /// The cookie of the post.
    pub cookie: u64,
    /// Number of bytes moved; meaningful only for a success.
    pub length: u64,
    /// A value that depends on the operation: the tag of the window for a bind, the invalidated key
    /// for a receive with invalidate, the data of a receive with immediate; otherwise 0.
    pub extra: u64,
    /// Which operation it was; set for failures too.
    pub operation: Operation,
    /// How it ended.
    pub status: DtoStatus,
}

/// A plain success, which most completions are: a send, an RDMA write, an RDMA read or a receive of
/// less than 4 GiB that succeeded, with no `extra` value. It has the memory layout of
/// `DAT_DTO_COMPLETION_EVENT_DATA` of DAT 2.0, and every bit pattern is valid, so it can be written
/// directly into the buffer of a C consumer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct PlainSuccess {
    #[doc(hidden)]
    pub tag: u64,
    #[doc(hidden)]
    pub cookie: u64,
    /// The status, which is 0, and the length in bytes.
    #[doc(hidden)]
    pub outcome: u64,
    /// The operation, and the `extra` value, which is 0.
    #[doc(hidden)]
    pub operation: u64,
}

/// Packs two 32-bit numbers in memory order, so that they are written in one store.
#[inline(always)]
const fn pair(first: u32, second: u32) -> u64 {
    if cfg!(target_endian = "little") {
        first as u64 | (second as u64) << 32
    } else {
        (first as u64) << 32 | second as u64
    }
}

/// The first and the second number of a pair.
const fn parts(pair: u64) -> (u32, u32) {
    let (low, high) = (pair as u32, (pair >> 32) as u32);
    if cfg!(target_endian = "little") { (low, high) } else { (high, low) }
}

impl PlainSuccess {
    /// Whether a success of this operation and length, with no `extra` value, fits into this type.
    #[inline(always)]
    #[must_use]
    pub const fn fits(operation: Operation, length: u64) -> bool {
        operation as u32 <= Operation::Receive as u32 && length <= u32::MAX as u64
    }

    /// Overwrites the value. The caller has checked with [`fits`](Self::fits) that the completion
    /// fits. Tag, cookie, length in bytes and operation number are those of the [`Completion`].
    #[inline(always)]
    pub fn set(&mut self, tag: u64, cookie: u64, length: u32, operation: u32) {
        *self = Self { tag, cookie, outcome: pair(0, length), operation: pair(operation, 0) };
    }
}

impl From<PlainSuccess> for Completion {
    #[inline(always)]
    fn from(success: PlainSuccess) -> Self {
        const KNOWN: [Operation; 4] =
            [Operation::Send, Operation::RdmaWrite, Operation::RdmaRead, Operation::Receive];
        let ((_, length), (operation, _)) = (parts(success.outcome), parts(success.operation));
        Self {
            tag: success.tag,
            cookie: success.cookie,
            length: length.into(),
            operation: KNOWN[operation as usize % KNOWN.len()],
            status: DtoStatus::Success,
            extra: 0,
        }
    }
}

/// The result of [`CompletionPoller::take_success`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeResult {
    /// No completion.
    Nothing,
    /// A plain success, which was taken.
    Success,
    /// There may be a completion, but none was taken: call [`CompletionPoller::poll`].
    Other,
}

/// The two halves of a completion queue: queue pairs refer to one, the event dispatcher owns the
/// other, so polling takes no lock of the provider.
pub struct CompletionQueueParts {
    /// The half that queue pairs are created with.
    pub queue: Arc<dyn CompletionQueue>,
    /// The half that takes completions.
    pub poller: Box<dyn CompletionPoller>,
}

impl std::fmt::Debug for CompletionQueueParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompletionQueueParts").finish_non_exhaustive()
    }
}

/// The half of a completion queue that queue pairs are created with.
pub trait CompletionQueue: Downcast {}

/// Which completions make an upcall when they arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notify {
    /// None: no thread sleeps.
    #[default]
    Off,
    /// Every completion except unsignalled successes.
    Signalled,
    /// Completions of receives whose sender requested it, and errors.
    Solicited,
}

/// The properties of a completion that decide whether it notifies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompletionFeatures {
    /// The consumer requested no notification.
    pub unsignalled: bool,
    /// The sender requested a notification.
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

/// A descriptor that becomes readable when completions arrive; see
/// [`CompletionPoller::descriptor`].
pub type CompletionDescriptor = Arc<dyn AsFd + Send + Sync>;

/// The half of a completion queue that its event dispatcher owns.
pub trait CompletionPoller: Send {
    /// Takes the oldest completions into the slice and returns how many.
    fn poll(&mut self, into: &mut [Completion]) -> usize;

    /// Takes the oldest completion if it is a plain success, and writes `into` only then. It spares
    /// a dequeue the cost of [`poll`](Self::poll). The default always leaves the work to `poll`.
    fn take_success(&mut self, into: &mut PlainSuccess) -> TakeResult {
        let _ = into;
        TakeResult::Other
    }

    /// The number of completions that were not taken, where counting them costs less than taking
    /// them. A provider whose polls make progress makes none here. The default does not count.
    fn queued(&mut self) -> Option<usize> {
        None
    }

    /// Selects which completions make an upcall from now on. Returns whether completions are
    /// already waiting. A completion that arrives during the call is either included in that result
    /// or makes its upcall.
    fn notify(&mut self, mode: Notify) -> bool;

    /// The descriptor that arrivals make readable, if the transport has one on which a waiter can
    /// sleep directly, without another thread that wakes it. Called once, before anything else; the
    /// dispatcher may keep it longer than the poller. None by default.
    fn descriptor(&mut self) -> Option<CompletionDescriptor> {
        None
    }

    /// As [`notify`](Self::notify) with [`Notify::Signalled`], for a waiter that is about to poll
    /// and then to sleep on the descriptor: until the next call of `notify` or `arm_descriptor`, a
    /// completion that the poll did not find makes the descriptor readable or makes an upcall.
    /// Arrivals before this call no longer make it readable, but it may be readable without a
    /// completion. Called only if there is a descriptor, and only if any completion ends the sleep.
    fn arm_descriptor(&mut self) {
        self.notify(Notify::Signalled);
    }

    /// Resizes the queue to hold at least `depth` completions; none is lost.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` if the device has no queue that long, `DAT_INVALID_STATE` if
    /// more completions are waiting than would fit.
    fn resize(&mut self, depth: usize) -> Result<()>;
}

/// Receives the upcalls of a completion queue.
pub trait CompletionSink: Send + Sync {
    /// A completion arrived that the mode set by [`CompletionPoller::notify`] reports.
    fn completion_ready(&self);

    /// A completion arrived when the queue was full.
    fn completion_overflow(&self);
}
