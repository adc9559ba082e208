//! The counters of a dispatcher, and of the endpoints whose receives are taken from it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use dat_sync::Mutex;

use super::EvdInner;
use crate::counters::{CounterSet, EpCounter, EvdCounter};
use crate::event::{DtoCompletion, Event};
use crate::status::{DtoStatus, Operation};

/// Endpoints that count their receives.
#[derive(Debug, Default)]
pub(super) struct Receivers {
    some: AtomicBool,
    counter_sets: Mutex<BTreeMap<u64, Weak<CounterSet<EpCounter>>>>,
}

impl Receivers {
    #[inline]
    pub(super) fn are_there(&self) -> bool {
        self.some.load(Ordering::Relaxed)
    }

    fn count(&self, done: &DtoCompletion) {
        let counter_set = self.counter_sets.lock().get(&done.ep).and_then(Weak::upgrade);
        let Some(counter_set) = counter_set.filter(|_| done.status == DtoStatus::Success) else {
            return;
        };
        let (received, data) = match done.operation {
            Operation::Receive | Operation::ReceiveWithInvalidate => {
                (EpCounter::Recv, EpCounter::RecvData)
            }
            Operation::ReceiveSendImmediate => (EpCounter::RecvImm, EpCounter::RecvImmData),
            Operation::ReceiveImmediate => (EpCounter::RecvRdmaImm, EpCounter::RecvRdmaImmData),
            Operation::ReceiveDatagram | Operation::ReceiveDatagramImmediate => {
                (EpCounter::RecvUd, EpCounter::RecvUdData)
            }
            _ => return,
        };
        counter_set.count(received);
        counter_set.count_bytes(data, done.length);
    }
}

impl EvdInner {
    /// From now on counts the receives of an endpoint that are taken here.
    pub(crate) fn count_receives(&self, endpoint: u64, counter_set: &Arc<CounterSet<EpCounter>>) {
        let mut counter_sets = self.receivers.counter_sets.lock();
        counter_sets.retain(|_, counter_set| counter_set.strong_count() > 0);
        counter_sets.insert(endpoint, Arc::downgrade(counter_set));
        self.receivers.some.store(true, Ordering::Relaxed);
        drop(counter_sets);
        self.queue.lock().set_counted(true);
    }

    /// Starts or stops counting.
    pub(crate) fn set_counted(&self, counted: bool) {
        let mut queue = self.queue.lock();
        self.counter_set.switch(counted);
        self.notifier.set_counted(counted);
        queue.set_counted(counted || self.receivers.are_there());
    }

    #[cold]
    pub(super) fn count_dequeue(&self, found: bool, event: &Event) {
        // A completion is what a poll found, also if a wait has moved it into the queue.
        let is_completion = matches!(event, Event::Dto(_) | Event::RmrBind(_));
        let has_polled = self.completions.is_some() && (!found || is_completion);
        self.counter_set.count(EvdCounter::Dequeue);
        if has_polled {
            self.counter_set.count(EvdCounter::DequeuePoll);
        }
        if !found {
            return self.counter_set.count(EvdCounter::DequeueNotFound);
        }
        self.counter_set.count(EvdCounter::DequeueFound);
        if has_polled {
            self.counter_set.count(EvdCounter::DequeuePollFound);
        }
        self.count_receive(event);
    }

    /// Counts an event that a wait took.
    pub(super) fn count_receive(&self, event: &Event) {
        if let Event::Dto(done) = event {
            if self.receivers.are_there() {
                self.receivers.count(done);
            }
        }
    }
}
