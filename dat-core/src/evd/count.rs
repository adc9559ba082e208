//! The counters of a dispatcher, and of the endpoints whose receives are taken from it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use dat_sync::Mutex;

use super::EvdInner;
use crate::counters::{EpCounter, EvdCounter, Tally};
use crate::event::{DtoCompletion, Event};
use crate::status::{DtoStatus, Operation};

/// Endpoints that count their receives.
#[derive(Debug, Default)]
pub(super) struct Receivers {
    some: AtomicBool,
    tallies: Mutex<BTreeMap<u64, Weak<Tally<EpCounter>>>>,
}

impl Receivers {
    #[inline]
    pub(super) fn are_there(&self) -> bool {
        self.some.load(Ordering::Relaxed)
    }

    fn count(&self, done: &DtoCompletion) {
        let tally = self.tallies.lock().get(&done.ep).and_then(Weak::upgrade);
        let Some(tally) = tally.filter(|_| done.status == DtoStatus::Success) else { return };
        let (received, data) = match done.operation {
            Operation::Receive | Operation::ReceiveWithInvalidate => {
                (EpCounter::Recv, EpCounter::RecvData)
            }
            Operation::ReceiveImmediate => (EpCounter::RecvRdmaImm, EpCounter::RecvRdmaImmData),
            _ => return,
        };
        tally.count(received);
        tally.add(data, done.length);
    }
}

impl EvdInner {
    /// From now on counts the receives of an endpoint that are taken here.
    pub(crate) fn count_receives(&self, endpoint: u64, tally: &Arc<Tally<EpCounter>>) {
        let mut tallies = self.receivers.tallies.lock();
        tallies.retain(|_, tally| tally.strong_count() > 0);
        tallies.insert(endpoint, Arc::downgrade(tally));
        self.receivers.some.store(true, Ordering::Relaxed);
        drop(tallies);
        self.queue.lock().set_counted(true);
    }

    /// Starts or stops counting.
    pub(crate) fn set_counted(&self, counted: bool) {
        let mut queue = self.queue.lock();
        self.tally.switch(counted);
        queue.set_counted(counted || self.receivers.are_there());
    }

    #[cold]
    pub(super) fn count_dequeue(&self, found: bool, event: &Event) {
        self.tally.count(EvdCounter::Dequeue);
        if !found {
            return self.tally.count(EvdCounter::DequeueNotFound);
        }
        self.tally.count(EvdCounter::DequeueFound);
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
