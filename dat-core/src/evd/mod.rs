//! Event dispatchers: queues of events, and the ways to take events from them.

mod alarm;
mod awake;
mod count;
mod patience;
mod queue;
mod streams;
mod wait;

pub(crate) use streams::{Feeds, Stream};
pub use wait::Waited;

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use crate::cno::{Cno, CnoInner};
use crate::counters::{EvdCounter, Tally};
use crate::cr::ConnectionRequest;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::event::Event;
use crate::flags::EvdFlags;
use crate::ia::{Child, IaInner, InterfaceAdapter};
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, Hold, object_handle};
use crate::provider::{
    CompletionDescriptor, CompletionPoller, CompletionQueue, CompletionSink, Success, Taken,
};
use crate::signal::reserve_always_ready;
use crate::sync::{BiasedLock, Mutex};

use alarm::Alarm;
use count::Receivers;
use queue::{NoCompletions, Queue, Raised};
use streams::{Mode, Streams};

/// An event dispatcher (dat_evd_create): events of the streams that its flags name are queued
/// on it and taken with [`dequeue`](Self::dequeue) or [`wait`](Self::wait).
///
/// ```
/// # use dat_core::registry::Registry;
/// use dat_core::{Event, EvdFlags, EvdOptions};
/// # let registry = Registry::new();
/// # registry.add_provider(provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// let evd = ia.evd_create(&EvdOptions::new(16, EvdFlags::SOFTWARE))?;
/// evd.post_se(42)?;
/// let mut event = Event::default();
/// assert!(evd.dequeue(&mut event)?);
/// assert_eq!(event, Event::Software(42));
/// assert!(!evd.dequeue(&mut event)?, "the queue is empty");
/// # Ok::<(), dat_core::Error>(())
/// ```
///
/// The descriptor of [`AsFd`] fits any event loop; [`arm`](Self::arm) makes sure that no event
/// is missed between the last look at the queue and the sleep.
#[derive(Clone)]
pub struct EventDispatcher {
    inner: Arc<EvdInner>,
}

pub(crate) struct EvdInner {
    pub(crate) base: Base,
    flags: EvdFlags,
    /// The completion queue for endpoints to complete into, if the flags ask for one.
    completions: Option<Arc<dyn CompletionQueue>>,
    queue: BiasedLock<Queue>,
    /// Where completions show, for a waiter to sleep on itself.
    descriptor: Option<CompletionDescriptor>,
    alarm: Arc<Alarm>,
    streams: Mutex<Streams>,
    tally: Tally<EvdCounter>,
    /// Endpoints that count the receives taken here, by number.
    receivers: Receivers,
    /// The use of the notification object; apart from the alarm, which only rings it.
    cno: Mutex<Option<Hold<CnoInner>>>,
}

object_handle!(EventDispatcher, EvdInner);

/// How an event dispatcher is made.
#[derive(Clone, Debug)]
pub struct EvdOptions {
    /// Events that it must hold; at least 1.
    pub min_qlen: u32,
    /// The streams that may feed it.
    pub flags: EvdFlags,
    /// The notification object that it triggers.
    pub cno: Option<Cno>,
}

impl EvdOptions {
    /// A dispatcher without a notification object.
    #[must_use]
    pub const fn new(min_qlen: u32, flags: EvdFlags) -> Self {
        Self { min_qlen, flags, cno: None }
    }

    /// The same with a notification object.
    #[must_use]
    pub fn with_cno(mut self, cno: &Cno) -> Self {
        self.cno = Some(cno.clone());
        self
    }
}

/// What an event dispatcher is (`DAT_EVD_PARAM`; dat_evd_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvdParam {
    /// Events that it holds at least.
    pub qlen: u32,
    /// The streams that may feed it.
    pub flags: EvdFlags,
    /// Whether events trigger the notification object.
    pub enabled: bool,
    /// Whether it can be waited on.
    pub waitable: bool,
    /// Whether its streams leave notification to the posts (unsignalled completions).
    pub config_notify: bool,
    /// Whether its streams leave notification to the senders (solicited wait).
    pub config_solicited: bool,
    /// The notification object.
    pub cno: Option<Cno>,
}

const CREATE: &str = "dat_evd_create";

impl InterfaceAdapter {
    /// Makes an event dispatcher (dat_evd_create).
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` for a length of 0 or above the adapter's maximum, or no flags;
    /// `DAT_MODEL_NOT_SUPPORTED` for streams that the provider can't merge;
    /// `DAT_INVALID_HANDLE` for a notification object that was freed or is of another adapter;
    /// `DAT_INSUFFICIENT_RESOURCES` when the adapter has no more.
    pub fn evd_create(&self, options: &EvdOptions) -> Result<EventDispatcher> {
        let ia = self.inner();
        let adapter = ia.adapter(CREATE)?;
        check_options(ia, options).map_err(|error| ia.describe(error, CREATE))?;
        reserve_always_ready();
        let cno = match &options.cno {
            Some(cno) => Some(Hold::new(cno.inner(), ia, CREATE, Subtype::InvalidHandleCno)?),
            None => None,
        };
        let base = ia.enroll(ObjectKind::Evd, CREATE)?;
        let alarm = Arc::new(Alarm::new(ia, base.id));
        let (completions, mut poller): (_, Box<dyn CompletionPoller>) =
            if options.flags.intersects(EvdFlags::COMPLETIONS) {
                let sink = Arc::clone(&alarm) as Arc<dyn CompletionSink>;
                let parts = adapter
                    .create_completion_queue(options.min_qlen as usize, sink)
                    .map_err(|error| ia.describe(error, CREATE))?;
                (Some(parts.queue), parts.poller)
            } else {
                (None, Box::new(NoCompletions {}))
            };
        let descriptor = poller.descriptor();
        let inner = Arc::new(EvdInner {
            base,
            flags: options.flags,
            completions,
            queue: BiasedLock::new(Queue::new(options.min_qlen as usize, poller)),
            descriptor,
            alarm,
            streams: Mutex::default(),
            tally: Tally::default(),
            receivers: Receivers::default(),
            cno: Mutex::new(None),
        });
        inner.alarm.bind(&inner);
        ia.adopt(&inner.base, Child::Evd(Arc::downgrade(&inner)), CREATE)?;
        inner.attach_cno(cno);
        Ok(EventDispatcher { inner })
    }
}

fn check_options(ia: &IaInner, options: &EvdOptions) -> Result<()> {
    check_qlen(ia, options.min_qlen)?;
    if options.flags.is_empty() || !(EvdFlags::all().contains(options.flags)) {
        return Err(Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg4)
            .because(format!("flags {:#x} name no stream or unknown ones", options.flags.bits()))
            .advise("name the streams that will feed the dispatcher"));
    }
    if let Some((one, other)) = ia.attributes.provider.evd_stream_merging.conflict(options.flags) {
        return Err(Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
            .because(format!("the provider can't merge the streams {one:?} and {other:?}"))
            .advise("make a dispatcher for each of them"));
    }
    Ok(())
}

fn check_qlen(ia: &IaInner, qlen: u32) -> Result<()> {
    let most = ia.attributes.ia.max_evd_qlen;
    if qlen == 0 || qlen > most {
        return Err(Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg2)
            .because(format!("evd_min_qlen {qlen} is not within 1 and the adapter's {most}"))
            .advise(format!("ask for 1 to {most} events")));
    }
    Ok(())
}

impl EventDispatcher {
    pub(crate) fn from_inner(inner: &Arc<EvdInner>) -> Self {
        Self { inner: Arc::clone(inner) }
    }

    pub(crate) fn inner(&self) -> &Arc<EvdInner> {
        &self.inner
    }

    /// Takes the first event, if there is one, into the caller's storage
    /// (dat_evd_dequeue(3DAT)); whether there was.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` while a thread waits on the dispatcher and so owns it;
    /// `DAT_INVALID_HANDLE` when it was freed.
    #[inline(always)]
    pub fn dequeue(&self, event: &mut Event) -> Result<bool> {
        let mut success = Success::default();
        match self.take(&mut success) {
            Taken::Success => {
                event.complete_dto(success.into());
                Ok(true)
            }
            Taken::Nothing => {
                self.seen_empty();
                Ok(false)
            }
            Taken::Other => self.inner.dequeue_any(event),
        }
    }

    /// Takes the first event into the caller's storage, if it is what most are: then a
    /// [`dequeue`](Self::dequeue) gets by with few instructions. [`Taken::Other`] says that it
    /// has to be called: there may be another event, or the dispatcher can't be used. After
    /// [`Taken::Nothing`], [`seen_empty`](Self::seen_empty) has to be.
    #[inline(always)]
    pub fn take(&self, into: &mut Success) -> Taken {
        let Some(mut queue) = self.inner.queue.lock_as_owner() else { return Taken::Other };
        queue.take(into)
    }

    /// Has the next overflow of the queue reported: [`take`](Self::take) found nothing.
    #[inline(always)]
    pub fn seen_empty(&self) {
        self.inner.alarm.drained();
    }

    /// Posts a software event, whose value is the consumer's own (dat_evd_post_se(3DAT)).
    ///
    /// # Errors
    /// `DAT_QUEUE_FULL` when the queue has no room; `DAT_INVALID_HANDLE` when the dispatcher
    /// was freed or not made for software events.
    pub fn post_se(&self, value: u64) -> Result<()> {
        const POST: &str = "dat_evd_post_se";
        if !self.inner.flags.contains(EvdFlags::SOFTWARE) {
            let error = Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandleEvdRequest)
                .because("the dispatcher was not made for software events")
                .advise("make it with DAT_EVD_SOFTWARE_FLAG");
            return Err(self.inner.base.describe(error, POST));
        }
        match self.inner.raise_if_room(Event::Software(value)) {
            Raised::Queued => Ok(()),
            Raised::Full => Err(Error::new(ReturnType::QueueFull, Subtype::NoSubtype).during(POST)),
            Raised::Dead => Err(self.inner.base.freed(POST)),
        }
    }

    /// What the dispatcher is (dat_evd_query(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn query(&self) -> Result<EvdParam> {
        self.inner.base.check_live("dat_evd_query")?;
        let (qlen, waitable) = self.inner.queue.lock().shape();
        let mode = self.inner.streams.lock().mode();
        let cno = self.inner.cno.lock();
        Ok(EvdParam {
            qlen: u32::try_from(qlen).unwrap_or(u32::MAX),
            flags: self.inner.flags,
            enabled: self.inner.alarm.is_enabled(),
            waitable,
            config_notify: mode == Mode::Unsignalled,
            config_solicited: mode == Mode::Solicited,
            cno: cno.as_ref().map(|cno| Cno::from_inner(cno.arc())),
        })
    }

    /// Gives the dispatcher another notification object, or none (dat_evd_modify_cno(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when either was freed or they are of different adapters.
    pub fn modify_cno(&self, cno: Option<&Cno>) -> Result<()> {
        const MODIFY: &str = "dat_evd_modify_cno";
        self.inner.base.check_live(MODIFY)?;
        let ia = &self.inner.base.ia;
        let hold = match cno {
            Some(cno) => Some(Hold::new(cno.inner(), ia, MODIFY, Subtype::InvalidHandleCno)?),
            None => None,
        };
        self.inner.attach_cno(hold);
        Ok(())
    }

    /// Lets events trigger the notification object (dat_evd_enable(3DAT)), the initial state.
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn enable(&self) -> Result<()> {
        self.inner.base.check_live("dat_evd_enable")?;
        self.inner.set_enabled(true);
        Ok(())
    }

    /// Keeps events from triggering the notification object (dat_evd_disable(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn disable(&self) -> Result<()> {
        self.inner.base.check_live("dat_evd_disable")?;
        self.inner.set_enabled(false);
        Ok(())
    }

    /// Changes how many events the queue holds; none is lost (dat_evd_resize(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` for a length of 0 or above the adapter's maximum;
    /// `DAT_INVALID_STATE` when more events are queued than that, and nothing has changed.
    pub fn resize(&self, min_qlen: u32) -> Result<()> {
        const RESIZE: &str = "dat_evd_resize";
        self.inner.base.check_live(RESIZE)?;
        check_qlen(&self.inner.base.ia, min_qlen)
            .and_then(|()| self.inner.queue.lock().resize(min_qlen as usize))
            .map_err(|error| self.inner.base.describe(error, RESIZE))
    }

    /// Frees the dispatcher; events on its queue are lost (dat_evd_free(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` while streams feed it or a thread waits on it;
    /// `DAT_INVALID_HANDLE` when it was freed before.
    pub fn free(&self) -> Result<()> {
        const FREE: &str = "dat_evd_free";
        let mut queue = self.inner.queue.lock();
        if queue.has_waiter() {
            let error = Error::new(ReturnType::InvalidState, Subtype::InvalidStateEvdWaiter);
            return Err(self.inner.base.describe(error, FREE));
        }
        self.inner.base.retire(FREE, Subtype::InvalidStateEvdInUse)?;
        queue.kill();
        drop(queue);
        // An event loop that sleeps on the descriptor has to hear of it.
        self.inner.alarm.bell.ring();
        self.inner.leave_cno();
        self.inner.base.leave();
        Ok(())
    }

    /// The descriptor that becomes readable after [`EventDispatcher::arm`] when an event
    /// arrives.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` when the process has no descriptor left.
    pub fn fd(&self) -> Result<BorrowedFd<'_>> {
        self.inner.alarm.bell.fd().map_err(|error| {
            let failure = Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice)
                .because("no event descriptor could be made")
                .advise("raise the limit of open files (`ulimit -n`)")
                .errno(error.raw_os_error().unwrap_or(0));
            self.inner.base.describe(failure, "EventDispatcher::fd")
        })
    }
}

impl AsFd for EventDispatcher {
    /// As [`EventDispatcher::fd`]; when the process has no descriptor left, one that is always
    /// readable: its user polls and loses no event.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.alarm.bell.fd_or_always_ready()
    }
}

impl EvdInner {
    /// As [`EventDispatcher::dequeue`], in every case.
    #[inline(never)]
    fn dequeue_any(&self, event: &mut Event) -> Result<bool> {
        let mut queue = self.queue.lock();
        if queue.is_taken() {
            return Err(self.taken(&queue, "dat_evd_dequeue"));
        }
        let found = queue.take_first(event);
        if !found {
            self.alarm.drained();
        }
        drop(queue);
        if self.tally.is_on() | self.receivers.are_there() {
            self.count_dequeue(found, event);
        }
        Ok(found)
    }

    pub(crate) fn tally(&self) -> &Tally<EvdCounter> {
        &self.tally
    }

    /// The streams that may feed it.
    pub(crate) fn flags(&self) -> EvdFlags {
        self.flags
    }

    /// What endpoints complete into.
    pub(crate) fn completions(&self) -> Option<Arc<dyn CompletionQueue>> {
        self.completions.clone()
    }

    /// Queues an event if there is room.
    fn raise_if_room(&self, event: Event) -> Raised {
        let raised = self.queue.lock().raise(event, false);
        if raised == Raised::Queued {
            self.alarm.sound();
        }
        raised
    }

    /// Queues an event of a connection: it is kept even beyond the queue's length, because a
    /// consumer that missed it would wait for ever. Being full is reported.
    pub(crate) fn raise_connection(&self, event: Event) {
        let (raised, overflow) = {
            let mut queue = self.queue.lock();
            let overflow = queue.is_full();
            (queue.raise(event, true), overflow)
        };
        if overflow {
            self.alarm.overflow();
        }
        if raised == Raised::Queued {
            self.alarm.sound();
        }
    }

    /// Queues a request for a connection; when there is no room the overflow is reported and
    /// the request comes back, to be refused by the caller. Nothing of it stays here: once the
    /// consumer has taken the event, the request ends with the consumer's handles.
    pub(crate) fn raise_request(
        &self,
        request: ConnectionRequest,
        event: impl FnOnce(ConnectionRequest) -> Event,
    ) -> std::result::Result<(), ConnectionRequest> {
        let mut queue = self.queue.lock();
        if queue.is_dead() || queue.is_full() {
            let overflow = !queue.is_dead();
            drop(queue);
            if overflow {
                self.alarm.overflow();
            }
            return Err(request);
        }
        queue.raise(event(request), true);
        drop(queue);
        self.alarm.sound();
        Ok(())
    }

    /// Queues an asynchronous error if there is room.
    pub(crate) fn raise_async(&self, event: Event) -> Raised {
        self.raise_if_room(event)
    }

    fn attach_cno(&self, cno: Option<Hold<CnoInner>>) {
        let mut place = self.cno.lock();
        self.alarm.set_cno(cno.as_ref().map(|cno| Arc::clone(cno.arc())));
        *place = cno;
        drop(place);
        self.refresh_notify();
    }

    /// Leaves the notification object for good.
    fn leave_cno(&self) {
        self.alarm.set_cno(None);
        let Some(hold) = self.cno.lock().take() else { return };
        let cno = Arc::clone(hold.arc());
        drop(hold);
        cno.dispatcher_freed();
    }

    fn set_enabled(&self, enabled: bool) {
        self.alarm.set_enabled(enabled);
        self.refresh_notify();
    }

    /// Tells the completion queue which arrivals are of interest now.
    fn refresh_notify(&self) {
        let ready = {
            // What is wanted is looked at under the lock, or a waiter that begins meanwhile would
            // have its own word undone.
            let streams = self.streams.lock();
            let mut queue = self.queue.lock();
            queue.set_mode(streams.mode());
            queue.notify(self.alarm.wanted(streams.mode()))
        };
        if ready {
            self.alarm.sound();
        }
    }

    #[cold]
    fn taken(&self, queue: &Queue, operation: &'static str) -> Error {
        if queue.is_dead() {
            return self.base.freed(operation);
        }
        let error = Error::new(ReturnType::InvalidState, Subtype::InvalidStateEvdWaiter);
        self.base.describe(error, operation)
    }

    pub(crate) fn abandon(&self) {
        self.base.lifecycle.force();
        self.queue.lock().kill();
        self.alarm.bell.ring();
        self.alarm.set_cno(None);
        *self.cno.lock() = None;
        self.base.leave();
    }
}

impl Drop for EvdInner {
    fn drop(&mut self) {
        self.leave_cno();
    }
}
