//! Event dispatchers: queues of events, and the ways to take events from them.

mod blocked;
mod control;
mod count;
mod create;
mod held;
mod next;
mod notifier;
mod processors;
mod queue;
mod raise;
mod spin;
mod spin_policy;
mod stream_bindings;
mod streams;
mod wait;

pub use blocked::BlockedEvdWait;
pub(crate) use blocked::Objects;
pub use control::EvdParam;
pub use create::EvdOptions;
pub use next::QueuedEvents;
pub(crate) use stream_bindings::StreamBindings;
pub(crate) use streams::Stream;
pub use wait::WaitResult;

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use crate::claim::ClaimableProgress;
use crate::cno::CnoInner;
use crate::compat::Compat;
use crate::counters::{CounterSet, EvdCounter};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::event::Event;
use crate::flags::EvdFlags;
use crate::lifecycle::{Base, Hold, object_handle};
use crate::provider::plain_success::{PlainSuccess, TakeResult};
use crate::provider::{CompletionDescriptor, CompletionQueue};
use crate::sync::{BiasedLock, Mutex};

use count::Receivers;
use notifier::Notifier;
use queue::Queue;
use streams::Streams;

/// An event dispatcher (dat_evd_create): a queue of the events of the streams that its flags name,
/// from which they are taken with [`dequeue`](Self::dequeue) or [`wait`](Self::wait).
///
/// ```
/// # use dat_core::registry::Registry;
/// use dat_core::{Event, EvdFlags, EvdOptions};
/// # let registry = Registry::new();
/// # registry.add_provider(std::sync::Arc::new(dat_core::provider::stub::StubProvider))?;
/// # let ia = registry.open("stub")?;
/// let evd = ia.evd_create(&EvdOptions::new(16, EvdFlags::SOFTWARE))?;
/// evd.post_software_event(42)?;
/// let mut event = Event::default();
/// assert!(evd.dequeue(&mut event)?);
/// assert_eq!(event, Event::Software(42));
/// assert!(!evd.dequeue(&mut event)?, "the queue is empty");
/// # Ok::<(), dat_core::Error>(())
/// ```
///
/// The descriptor of [`AsFd`] fits any event loop; [`arm`](Self::arm) ensures that no event is
/// missed between the last check of the queue and the sleep.
#[derive(Clone)]
pub struct Evd {
    inner: Arc<EvdInner>,
}

pub(crate) struct EvdInner {
    pub(crate) base: Base,
    flags: EvdFlags,
    /// The completion queue that endpoints complete into, if the flags include completions.
    completions: Option<Arc<dyn CompletionQueue>>,
    queue: BiasedLock<Queue>,
    /// The progress that empty polls offer to make: that of connections, unless polls make it by their completions.
    polled: Option<Arc<ClaimableProgress>>,
    /// The descriptor of the completion queue, on which a waiter can sleep directly.
    descriptor: Option<CompletionDescriptor>,
    notifier: Arc<Notifier>,
    streams: Mutex<Streams>,
    counter_set: CounterSet<EvdCounter>,
    /// Endpoints whose receives are counted here, by number.
    receivers: Receivers,
    /// The use of the notification object; separate from the notifier, which only triggers it.
    cno: Mutex<Option<Hold<CnoInner>>>,
}

object_handle!(Evd, shared EvdInner);

const DEQUEUE: &str = "dat_evd_dequeue";

impl Evd {
    /// Takes the first event, if there is one, into `event` (dat_evd_dequeue(3DAT)); returns
    /// whether there was one.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` while a thread waits on the dispatcher and so owns it;
    /// `DAT_INVALID_HANDLE` when it was freed.
    #[inline(always)]
    pub fn dequeue(&self, event: &mut Event) -> Result<bool> {
        let mut success = PlainSuccess::default();
        match self.take_success(&mut success) {
            TakeResult::Success => {
                event.complete_dto(success.into());
                Ok(true)
            }
            TakeResult::Nothing => {
                self.note_empty();
                Ok(false)
            }
            TakeResult::Other => self.inner.dequeue_any(event),
        }
    }

    /// Takes the first event into `into` if it is a plain success: this needs fewer instructions
    /// than [`dequeue`](Self::dequeue). After [`TakeResult::Other`] the caller must call `dequeue`:
    /// there may be another event, or the dispatcher cannot be used. After [`TakeResult::Nothing`] it
    /// must call [`note_empty`](Self::note_empty).
    #[doc(hidden)]
    #[inline(always)]
    pub fn take_success(&self, into: &mut PlainSuccess) -> TakeResult {
        let Some(mut queue) = self.inner.queue.lock_as_owner() else { return TakeResult::Other };
        queue.take_success(into)
    }

    /// Records that [`take_success`](Self::take_success) found nothing, so that the next overflow is reported.
    #[doc(hidden)]
    #[inline(always)]
    pub fn note_empty(&self) {
        self.inner.notifier.drained();
    }

    /// The descriptor that becomes readable when an event arrives after [`Evd::arm`].
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` if the process has no descriptor left.
    pub fn fd(&self) -> Result<BorrowedFd<'_>> {
        self.inner.notifier.wakeup.fd().map_err(|error| {
            let failure = Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice)
                .because("cannot create an event descriptor")
                .advise("raise the limit on open files (`ulimit -n`)")
                .errno(error.raw_os_error().unwrap_or(0));
            self.inner.base.describe(failure, "Evd::fd")
        })
    }
}

impl AsFd for Evd {
    /// As [`Evd::fd`]; if the process has no descriptor left, one that is always
    /// readable: its user then polls and loses no event.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.notifier.wakeup.fd_or_always_ready()
    }
}

impl EvdInner {
    /// The general case of [`Evd::dequeue`].
    #[inline(never)]
    fn dequeue_any(&self, event: &mut Event) -> Result<bool> {
        self.base.check_process(DEQUEUE)?;
        let found = loop {
            let mut queue = self.queue.lock();
            if queue.is_taken() {
                return Err(self.taken(&queue, DEQUEUE));
            }
            if queue.take_first(event) {
                break true;
            }
            let Some(report) = queue.next_report() else {
                self.notifier.drained();
                break false;
            };
            drop(queue);
            report();
        };
        if self.counter_set.is_on() | self.receivers.are_there() {
            self.count_dequeue(found, event);
        }
        if let Some(progress) = self.polled.as_ref().filter(|_| !found) {
            progress.poll();
        }
        Ok(found)
    }

    pub(crate) fn counter_set(&self) -> &CounterSet<EvdCounter> {
        &self.counter_set
    }

    /// The streams that may feed it.
    pub(crate) fn flags(&self) -> EvdFlags {
        self.flags
    }

    /// Which rules for its streams are relaxed.
    fn compat(&self) -> Compat {
        self.base.ia.compat
    }

    /// The completion queue for endpoints.
    pub(crate) fn completions(&self) -> Option<Arc<dyn CompletionQueue>> {
        self.completions.clone()
    }

    #[cold]
    fn taken(&self, queue: &Queue, operation: &'static str) -> Error {
        if queue.is_dead() {
            return self.base.freed(operation);
        }
        let error = Error::new(ReturnType::InvalidState, Subtype::InvalidStateEvdWaiter);
        self.base.describe(error, operation)
    }
}
