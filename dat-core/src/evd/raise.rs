//! Events that are raised: those of consumers, connections and errors. Completions are not; the
//! queue takes them from the provider.

use super::queue::Raised;
use super::{EvdInner, EventDispatcher};
use crate::cr::ConnectionRequest;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::event::Event;
use crate::flags::EvdFlags;

impl EventDispatcher {
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
}

impl EvdInner {
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
}
