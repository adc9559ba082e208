//! The queue of an event dispatcher: raised events, then completions polled from the provider.
//!
//! Completions stay in the provider's queue until they are taken, and then go directly into the
//! caller's event. They are moved into this queue only when another event is raised, or when a
//! waiter checks its threshold, so that all events keep the order in which they were raised.

use std::collections::VecDeque;

use super::held::{Held, Report};
use super::spin_policy::{Spin, SpinPolicy};
use super::streams::Mode;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::event::Event;
use crate::provider::plain_success::{PlainSuccess, TakeResult};
use crate::provider::{Completion, CompletionPoller, Notify, SleepTarget};
use crate::timeout::Timeout;

/// With more events than these, a failure to allocate space for further ones is handled; less space is never
/// refused.
const MANY: usize = 256;

/// The outcome of raising an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Raised {
    Queued,
    Full,
    Dead,
}

pub(super) struct Queue {
    /// The provider's poller, if any thread may take events and there are none but completions;
    /// otherwise a [`SlowPathPoller`], which makes every taker use the slow path.
    front: Box<dyn CompletionPoller>,
    /// The provider's poller while `front` is a [`SlowPathPoller`].
    back: Option<Box<dyn CompletionPoller>>,
    events: VecDeque<Event>,
    capacity: usize,
    waiter: bool,
    unwaitable: bool,
    /// The waiter must leave, because the dispatcher became unwaitable.
    evicted: bool,
    dead: bool,
    /// Events are counted when they are taken.
    counted: bool,
    /// Which completions notify when they arrive.
    notify: Notify,
    /// Which side decides about notification; the mode of a stream that ended is kept until the
    /// next.
    mode: Mode,
    held: Held,
    pub(super) spin_policy: SpinPolicy,
}

/// The poller of a dispatcher without a completion queue.
pub(super) type NoCompletions = Empty<true>;

/// A poller that sends its caller to the slow path, which checks everything.
pub(super) type SlowPathPoller = Empty<false>;

/// A poller without completions. `NOTHING` says whether that means that there is no event at all.
pub(super) struct Empty<const NOTHING: bool>;

impl<const NOTHING: bool> CompletionPoller for Empty<NOTHING> {
    fn poll(&mut self, _: &mut [Completion]) -> usize {
        0
    }

    fn take_success(&mut self, _: &mut PlainSuccess) -> TakeResult {
        if NOTHING { TakeResult::Nothing } else { TakeResult::Other }
    }

    fn notify(&mut self, _: Notify) -> bool {
        false
    }

    fn resize(&mut self, _: usize) -> Result<()> {
        Ok(())
    }
}

impl Queue {
    pub(super) fn new(capacity: usize, poller: Box<dyn CompletionPoller>) -> Self {
        Self {
            front: poller,
            back: None,
            events: VecDeque::new(),
            capacity,
            waiter: false,
            unwaitable: false,
            evicted: false,
            dead: false,
            counted: false,
            notify: Notify::Off,
            mode: Mode::default(),
            held: Held::default(),
            spin_policy: SpinPolicy::default(),
        }
    }

    /// Returns true if the queue is closed to threads other than the waiter.
    pub(super) fn is_taken(&self) -> bool {
        self.waiter | self.dead
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead
    }

    pub(super) fn has_waiter(&self) -> bool {
        self.waiter
    }

    pub(super) fn set_waiter(&mut self, waiter: bool) {
        self.waiter = waiter;
        self.evicted = false;
        self.select_poller();
    }

    /// Returns true if the dispatcher became unwaitable during the wait.
    pub(super) fn is_evicted(&self) -> bool {
        self.evicted
    }

    /// Returns true if the wait must end without an event.
    pub(super) fn has_to_go(&self) -> bool {
        self.dead || self.evicted
    }

    pub(super) fn is_unwaitable(&self) -> bool {
        self.unwaitable
    }

    pub(super) fn set_unwaitable(&mut self, unwaitable: bool) {
        self.unwaitable = unwaitable;
        self.evicted |= unwaitable && self.waiter;
    }

    /// Returns true if arrivals notify.
    pub(super) fn is_listened_to(&self) -> bool {
        self.notify != Notify::Off
    }

    /// Sets the mode of the streams.
    pub(super) fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
    }

    /// The spin of a waiter before it blocks.
    pub(super) fn spin(&self, timeout: Timeout) -> Spin {
        self.spin_policy.spin(self.spin_policy.limit(self.mode, timeout))
    }

    /// The capacity in events, and whether threads may wait.
    pub(super) fn shape(&self) -> (usize, bool) {
        (self.capacity, !self.unwaitable)
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Ends the queue; its events are lost.
    pub(super) fn kill(&mut self) {
        self.dead = true;
        self.events = VecDeque::new();
        self.held = Held::default();
        self.notify(Notify::Off);
        self.select_poller();
        self.back = Some(Box::new(NoCompletions {}));
    }

    /// Sets whether events are counted when they are taken.
    pub(super) fn set_counted(&mut self, counted: bool) {
        self.counted = counted;
        self.select_poller();
    }

    /// Selects the poller for the fast path: the provider's, unless something else needs attention.
    fn select_poller(&mut self) {
        let special = self.waiter || self.dead || self.counted || !self.held.is_empty();
        if special || !self.events.is_empty() {
            if self.back.is_none() {
                self.back = Some(std::mem::replace(&mut self.front, Box::new(SlowPathPoller {})));
            }
        } else if let Some(poller) = self.back.take() {
            self.front = poller;
        }
    }

    /// Takes the first event if it is a plain success.
    #[inline(always)]
    pub(super) fn take_success(&mut self, into: &mut PlainSuccess) -> TakeResult {
        self.front.take_success(into)
    }

    /// Takes the first event if it is a plain success that was moved into the queue, as a wait does
    /// to count what is left. The slow path counts events and holds some back, and only the waiter
    /// may take events during its wait.
    #[inline(never)]
    pub(super) fn take_moved(&mut self, into: &mut PlainSuccess) -> TakeResult {
        if self.is_taken() || self.counted || !self.held.is_empty() {
            return TakeResult::Other;
        }
        let Some(success) = self.events.front().and_then(Event::plain_success) else {
            return TakeResult::Other;
        };
        *into = success;
        self.events.pop_front();
        if self.events.is_empty() {
            self.select_poller();
        }
        TakeResult::Success
    }

    /// The provider's poller.
    fn poller(&mut self) -> &mut dyn CompletionPoller {
        &mut **self.back.as_mut().unwrap_or(&mut self.front)
    }

    /// Takes the first event; a completion that was never queued goes directly to the caller.
    pub(super) fn take_first(&mut self, event: &mut Event) -> bool {
        if !self.events.is_empty() {
            return self.take_queued(event);
        }
        let mut completion = [Completion::default()];
        while self.poller().poll(&mut completion) > 0 {
            if self.held.is_empty() || !self.held.keep(&completion[0]) {
                event.complete(completion[0]);
                return true;
            }
        }
        false
    }

    fn take_queued(&mut self, event: &mut Event) -> bool {
        let first = self.events.pop_front();
        self.select_poller();
        first.map(|first| *event = first).is_some()
    }

    /// Number of events that a waiter leaves on the queue: a lower bound, but 0 is exact. Asks the provider only if
    /// this queue is empty.
    #[inline(always)]
    pub(super) fn left(&mut self) -> usize {
        match self.events.len() {
            0 => self.front.queued().unwrap_or_else(|| self.collect()),
            queued => queued,
        }
    }

    /// Moves the provider's completions into the queue; returns the number of events in it.
    pub(super) fn collect(&mut self) -> usize {
        // A waiter polls many times without a result, and then usually finds one completion.
        if self.collect_up_to::<1>() {
            while self.poller().queued() != Some(0) && self.collect_up_to::<8>() {}
        }
        self.select_poller();
        self.events.len()
    }

    /// Moves at most `MOST` completions; returns whether there may be more.
    fn collect_up_to<const MOST: usize>(&mut self) -> bool {
        // Without memory for more events, completions stay with the provider.
        if self.events.len() >= MANY && self.events.try_reserve(MOST).is_err() {
            return false;
        }
        let mut batch = [Completion::default(); MOST];
        let count = self.poller().poll(&mut batch);
        let held = &mut self.held;
        let due = batch[..count].iter().filter(|one| held.is_empty() || !held.keep(one));
        self.events.extend(due.copied().map(Event::from));
        count == MOST
    }

    /// Holds back the receives of the endpoint with that tag that complete from now on.
    pub(super) fn hold_back(&mut self, tag: u64, report: Report) {
        self.collect();
        self.held.begin(tag, report);
        self.select_poller();
    }

    /// Queues what was held back for that tag; returns whether there was anything.
    pub(super) fn release_held(&mut self, tag: u64) -> bool {
        let completions = self.held.end(tag);
        let were_any = !completions.is_empty() && !self.dead;
        if were_any {
            self.events.extend(completions.into_iter().map(Event::from));
        }
        self.select_poller();
        were_any
    }

    /// Returns true if a held completion has news for its queue pair.
    pub(super) fn has_report(&self) -> bool {
        self.held.has_report()
    }

    /// The report to a queue pair, to be made after the lock is released.
    pub(super) fn next_report(&mut self) -> Option<Report> {
        self.held.next_report()
    }

    /// Returns true if another event would exceed the capacity; collects completions first.
    pub(super) fn is_full(&mut self) -> bool {
        self.collect() >= self.capacity
    }

    pub(super) fn raise(&mut self, event: Event, beyond_capacity: bool) -> Raised {
        if self.dead {
            return Raised::Dead;
        }
        if self.is_full() && !beyond_capacity {
            return Raised::Full;
        }
        // Memory for an event that cannot be had is space that the queue does not have.
        if self.events.try_reserve(1).is_err() {
            return Raised::Full;
        }
        self.events.push_back(event);
        self.select_poller();
        Raised::Queued
    }

    /// Sets which completions notify when they arrive; returns whether some are waiting already.
    pub(super) fn notify(&mut self, mode: Notify) -> bool {
        self.notify = mode;
        self.poller().notify(mode)
    }

    /// Makes arrivals show at the descriptor of the completion queue.
    pub(super) fn arm_descriptor(&mut self) {
        self.poller().arm_descriptor();
    }

    /// The object on which the waiter may sleep besides its wakeup; see [`CompletionPoller::begin_sleep`].
    pub(super) fn begin_sleep(&mut self) -> Option<SleepTarget> {
        self.poller().begin_sleep()
    }

    /// The waiter sleeps no more on that object.
    pub(super) fn end_sleep(&mut self) {
        self.poller().end_sleep();
    }

    pub(super) fn resize(&mut self, capacity: usize) -> Result<()> {
        let queued = self.collect();
        if queued > capacity {
            return Err(Error::new(ReturnType::InvalidState, Subtype::InvalidStateEvdInUse)
                .because(format!("{queued} events are queued, more than {capacity}"))
                .advise("dequeue some events first"));
        }
        self.poller().resize(capacity)?;
        self.capacity = capacity;
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
