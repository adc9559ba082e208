//! Events that are raised: software events, connection events and errors. Completions are not
//! raised; the queue polls them from the provider.

use std::any::Any;
use std::sync::Arc;

use super::queue::Raised;
use super::{Evd, EvdInner};
use crate::counters::EvdCounter;
use crate::cr::Cr;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::event::{AsyncError, Event};
use crate::flags::EvdFlags;
use crate::ia::{AsyncErrorSink, Object};

impl Evd {
    /// Posts a software event with a value of the consumer (dat_evd_post_se(3DAT)).
    ///
    /// # Errors
    /// `DAT_QUEUE_FULL` if the queue is full; `DAT_INVALID_HANDLE` if the dispatcher was freed or
    /// not created for software events.
    pub fn post_software_event(&self, value: u64) -> Result<()> {
        const POST: &str = "dat_evd_post_se";
        if !self.inner.flags.contains(EvdFlags::SOFTWARE) {
            let error = Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandleEvdRequest)
                .because("the dispatcher was not created for software events")
                .advise("create it with DAT_EVD_SOFTWARE_FLAG");
            return Err(self.inner.base.describe(error, POST));
        }
        self.inner.base.check_process(POST)?;
        match self.inner.raise_if_room(Event::Software(value)) {
            Raised::Queued => Ok(()),
            Raised::Full => Err(Error::new(ReturnType::QueueFull, Subtype::NoSubtype).during(POST)),
            Raised::Dead => Err(self.inner.base.freed(POST)),
        }
    }
}

impl EvdInner {
    /// Queues an event unless the queue is full.
    fn raise_if_room(&self, event: Event) -> Raised {
        let raised = self.queue.lock().raise(event, false);
        if raised == Raised::Queued {
            self.notifier.notify();
        }
        raised
    }

    /// Queues a connection event, even beyond the queue's capacity, because a consumer that missed
    /// it would wait forever. The overflow is reported.
    pub(crate) fn raise_connection(&self, event: Event) {
        let (raised, overflow) = {
            let mut queue = self.queue.lock();
            let overflow = queue.is_full();
            (queue.raise(event, true), overflow)
        };
        self.announce_connection(raised, overflow);
    }

    /// An event of a connection was raised; `overflow` says that the queue was full.
    fn announce_connection(&self, raised: Raised, overflow: bool) {
        if overflow || raised == Raised::Full {
            self.notifier.overflow();
        }
        if raised == Raised::Queued {
            self.counter_set.count(EvdCounter::ConnCallback);
            self.notifier.notify();
        }
    }

    /// Queues a connection request. If the queue is full, the overflow is reported and the request
    /// is returned, to be refused by the caller. The dispatcher keeps no reference to the request:
    /// once the consumer has taken the event, the request ends with the consumer's handles.
    pub(crate) fn raise_request(
        &self,
        request: Cr,
        event: impl FnOnce(Cr) -> Event,
    ) -> std::result::Result<(), Cr> {
        let mut queue = self.queue.lock();
        if queue.is_dead() || queue.is_full() {
            let overflow = !queue.is_dead();
            drop(queue);
            if overflow {
                self.notifier.overflow();
            }
            return Err(request);
        }
        // Without memory for the event, it is dropped, which refuses the request.
        let raised = queue.raise(event(request), true);
        drop(queue);
        self.announce_connection(raised, false);
        Ok(())
    }

    /// Holds back the receives of an endpoint that complete while its attempt is pending. Those
    /// that completed before keep their positions in the queue. The first one calls `report`, without
    /// a lock, in the thread that polls for events.
    pub(crate) fn hold_back(&self, tag: u64, report: impl FnOnce() + Send + 'static) {
        let report = Box::new(report);
        self.queue.lock().hold_back(tag, report);
    }

    /// The attempt is over and its event was raised: queues what was held back behind that event.
    pub(crate) fn release_held(&self, tag: u64) {
        let were_any = self.queue.lock().release_held(tag);
        if were_any {
            self.notifier.notify();
        }
    }
}

impl AsyncErrorSink for EvdInner {
    fn raise(&self, error: AsyncError) {
        // If this dispatcher is full too, there is no other one to which this can be reported.
        let _ = self.raise_if_room(Event::Async(error));
    }

    fn abandon(&self) {
        Object::abandon(self);
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}
