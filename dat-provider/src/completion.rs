//! Completion queues.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use super::Downcast;
use super::plain_success::{PlainSuccess, TakeResult};
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
    /// for a receive with invalidate, the data of a receive with immediate data; for a received datagram of a queue pair with a
    /// [`DatagramBinding`](crate::verbs::DatagramBinding) the port of the sender, and in the upper half immediate data;
    /// otherwise 0.
    pub extra: u64,
    /// Which operation it was; set for failures too.
    pub operation: Operation,
    /// How it ended.
    pub status: DtoStatus,
}

impl Completion {
    /// The UDP port from which a received datagram came, if the queue pair has a
    /// [`DatagramBinding`](crate::verbs::DatagramBinding).
    #[must_use]
    pub const fn datagram_port(&self) -> u16 {
        self.extra as u16
    }

    /// Returns true if a datagram came by IPv4. Its route header is then in the last 20 bytes before the message.
    #[must_use]
    pub const fn is_datagram_ipv4(&self) -> bool {
        self.extra & Self::DATAGRAM_IPV4 != 0
    }

    /// A bit of [`extra`](Self::extra), of a datagram that came by IPv4.
    pub const DATAGRAM_IPV4: u64 = 1 << 16;

    /// The immediate data of the message, RDMA write or datagram that completed a receive.
    #[must_use]
    pub const fn immediate(&self) -> Option<u32> {
        match self.operation {
            Operation::ReceiveImmediate | Operation::ReceiveSendImmediate => {
                Some(self.extra as u32)
            }
            Operation::ReceiveDatagramImmediate => Some((self.extra >> 32) as u32),
            _ => None,
        }
    }
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
    /// Returns true if a completion with these features makes an upcall.
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

/// A word of memory that processes share, which arrivals change; see [`CompletionPoller::begin_sleep`].
pub trait SharedWord: Send + Sync {
    /// The word, on which threads sleep with futex(2).
    fn word(&self) -> &AtomicU32;
}

/// The object on which a waiter may sleep besides its upcalls; see [`CompletionPoller::begin_sleep`].
#[derive(Clone)]
pub enum SleepTarget {
    /// A descriptor, until it is readable.
    Descriptor(CompletionDescriptor),
    /// A word, while its value is `seen`. Only if [`dat_sync::futex::is_available`] returns true.
    Word {
        /// The word.
        word: Arc<dyn SharedWord>,
        /// The value that the provider read before it checked for arrivals.
        seen: u32,
    },
}

impl std::fmt::Debug for SleepTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Descriptor(descriptor) => {
                f.debug_tuple("Descriptor").field(&descriptor.as_fd()).finish()
            }
            Self::Word { seen, .. } => {
                f.debug_struct("Word").field("seen", seen).finish_non_exhaustive()
            }
        }
    }
}

/// The half of a completion queue that its event dispatcher owns.
pub trait CompletionPoller: Send {
    /// Takes the oldest completions into the slice and returns how many.
    fn poll(&mut self, into: &mut [Completion]) -> usize;

    /// See [`plain_success`](crate::plain_success). The default always leaves the work to [`poll`](Self::poll).
    #[doc(hidden)]
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

    /// A waiter is about to call [`notify`](Self::notify), to poll, and then to sleep. Returns a descriptor or a word
    /// on which it may sleep besides its upcalls, if the provider would otherwise wake a thread of its own for an
    /// arrival: until [`end_sleep`](Self::end_sleep), a completion that no poll has found makes the descriptor
    /// readable, changes the word and wakes the thread that sleeps on it, or makes an upcall. A sleep may also end
    /// without a completion. The waiter calls this again before each of its sleeps; if there is no target then, that
    /// ends the former sleep as [`end_sleep`](Self::end_sleep) does. None by default.
    fn begin_sleep(&mut self) -> Option<SleepTarget> {
        None
    }

    /// The waiter sleeps no more on the target that [`begin_sleep`](Self::begin_sleep) has returned.
    fn end_sleep(&mut self) {}

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
