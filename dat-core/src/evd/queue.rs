//! The queue of an event dispatcher: events raised by software before completions polled.
//!
//! Completions stay with the provider until they are taken, and go straight into the caller's
//! event. Only when another event is raised, or a waiter counts, are they moved into the
//! queue first, so that all events keep the order in which they were raised.

use std::collections::VecDeque;

use super::patience::Patience;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::event::Event;
use crate::provider::{Completion, CompletionPoller, Notify};

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Raised {
    Queued,
    Full,
    Dead,
}

pub(super) struct Queue {
    events: VecDeque<Event>,
    poller: Option<Box<dyn CompletionPoller>>,
    capacity: usize,
    waiter: bool,
    unwaitable: bool,
    /// The waiter was told to go.
    evicted: bool,
    dead: bool,
    /// Somebody counts the events that are taken.
    counted: bool,
    /// Nothing of this is the case, and all that there is to take is with the provider.
    plain: bool,
    pub(super) patience: Patience,
}

impl Queue {
    pub(super) fn new(capacity: usize, poller: Option<Box<dyn CompletionPoller>>) -> Self {
        let plain = poller.is_some();
        Self {
            events: VecDeque::new(),
            poller,
            capacity,
            waiter: false,
            unwaitable: false,
            evicted: false,
            dead: false,
            counted: false,
            plain,
            patience: Patience::default(),
        }
    }

    /// Whether only a waiter, or nobody any more, may take events.
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
        self.look();
    }

    /// Whether the dispatcher became unwaitable while the waiter waited.
    pub(super) fn is_evicted(&self) -> bool {
        self.evicted
    }

    /// Whether the waiter has nothing to wait for any more.
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

    /// Length and whether it can be waited on.
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
        self.notify(Notify::Off);
        self.poller = None;
        self.look();
    }

    /// From now on somebody counts the events that are taken, or nobody does.
    pub(super) fn set_counted(&mut self, counted: bool) {
        self.counted = counted;
        self.look();
    }

    /// Looks whether anything but the provider's completions is of interest.
    fn look(&mut self) {
        let special = self.waiter || self.dead || self.counted || self.poller.is_none();
        self.plain = !special && self.events.is_empty();
    }

    /// The provider's completions, if they are all that there is to take, by anybody.
    #[inline(always)]
    pub(super) fn poller_alone(&mut self) -> Option<&mut dyn CompletionPoller> {
        if !self.plain {
            return None;
        }
        self.poller.as_deref_mut().map(|poller| poller as _)
    }

    /// Takes the first event; completions that were never queued go straight to the caller.
    pub(super) fn take_first(&mut self, event: &mut Event) -> bool {
        if !self.events.is_empty() {
            return self.take_queued(event);
        }
        let Some(poller) = &mut self.poller else { return false };
        poller.take(event)
    }

    fn take_queued(&mut self, event: &mut Event) -> bool {
        let first = self.events.pop_front();
        self.look();
        first.map(|first| *event = first).is_some()
    }

    /// Moves the provider's completions into the queue and returns how many events it has.
    pub(super) fn collect(&mut self) -> usize {
        if let Some(poller) = &mut self.poller {
            let mut batch = [Completion::default(); 16];
            loop {
                let count = poller.poll(&mut batch);
                self.events.extend(batch[..count].iter().copied().map(Event::from));
                if count < batch.len() {
                    break;
                }
            }
        }
        self.look();
        self.events.len()
    }

    /// Whether another event would exceed the length; of meaning after `collect`.
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
        self.events.push_back(event);
        self.look();
        Raised::Queued
    }

    /// Sets which arrivals ring; whether completions are waiting already.
    pub(super) fn notify(&mut self, mode: Notify) -> bool {
        self.poller.as_mut().is_some_and(|poller| poller.notify(mode))
    }

    /// Has arrivals show at the descriptor of the completion queue.
    pub(super) fn watch(&mut self) {
        if let Some(poller) = &mut self.poller {
            poller.watch();
        }
    }

    pub(super) fn resize(&mut self, capacity: usize) -> Result<()> {
        let queued = self.collect();
        if queued > capacity {
            return Err(Error::new(ReturnType::InvalidState, Subtype::InvalidStateEvdInUse)
                .because(format!("{queued} events are queued, more than {capacity}"))
                .advise("dequeue events first"));
        }
        if let Some(poller) = &mut self.poller {
            poller.resize(capacity)?;
        }
        self.capacity = capacity;
        Ok(())
    }
}
