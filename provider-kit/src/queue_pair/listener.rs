//! The listener of the provider contract, and the connection requests that it reports.

use std::sync::{Arc, Weak};

use dat_provider::error::{Result, Subtype};
use dat_provider::{ListenSink, QueuePair};
use dat_sync::Mutex;

use super::{datagram, handle};
use crate::errors::{already_answered, wrong_state};
use crate::handshake::Message;
use crate::progress::{Core, Incoming, Job, ListenerState, RequestSink};

/// A connection request that waits for the answer of the consumer. Dropping it refuses the request.
pub(super) struct PendingRequest {
    core: Arc<Core>,
    incoming: Mutex<Option<Incoming>>,
}

impl PendingRequest {
    /// Converts a request to the form that a listener reports.
    fn report(core: &Arc<Core>, incoming: Incoming) -> dat_provider::IncomingRequest {
        dat_provider::IncomingRequest {
            peer: incoming.peer(),
            is_datagram: incoming.hello.side.datagrams.is_some(),
            private_data: Arc::from(incoming.hello.side.private_data.as_slice()),
            responder: Box::new(Self {
                core: Arc::clone(core),
                incoming: Mutex::new(Some(incoming)),
            }),
        }
    }

    fn take(&self) -> Result<Incoming> {
        self.incoming.lock().take().ok_or_else(already_answered)
    }

    /// As [`take`](Self::take), for a queue pair whose connections are unreliable or not.
    fn take_for(&self, is_unreliable: bool) -> Result<Incoming> {
        let mut incoming = self.incoming.lock();
        let is_other = |it: &Incoming| it.hello.side.is_unreliable != is_unreliable;
        if incoming.as_ref().is_some_and(is_other) {
            return Err(wrong_state(Subtype::InvalidStateEpNotready)
                .because("only one of the two queue pairs is for unreliable connections"));
        }
        incoming.take().ok_or_else(already_answered)
    }
}

impl dat_provider::Responder for PendingRequest {
    fn accept(&self, queue_pair: &dyn QueuePair, attempt: u64, private_data: &[u8]) -> Result<()> {
        if let Some(datagrams) = datagram::downcast(queue_pair) {
            return datagrams.accept(attempt, private_data, &self.incoming);
        }
        handle::downcast(queue_pair)?
            .accept(attempt, private_data, |is_unreliable| self.take_for(is_unreliable))
    }

    fn reject(&self, private_data: &[u8]) -> Result<()> {
        self.take()?.answer_and_close(&Message::rejection(private_data), &self.core);
        Ok(())
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if let Some(incoming) = self.incoming.get_mut().take() {
            incoming.refuse(&self.core);
        }
    }
}

/// Reports the requests of a listener.
pub(super) struct Requests {
    pub(super) core: Weak<Core>,
    pub(super) sink: Arc<dyn ListenSink>,
}

impl RequestSink for Requests {
    fn request(&self, incoming: Incoming) {
        // An adapter without objects is closing, and drops its links.
        let Some(core) = self.core.upgrade() else { return };
        // If the listener returns the request, dropping it refuses it.
        drop(self.sink.connection_request(PendingRequest::report(&core, incoming)));
    }
}

/// A listener; dropping it closes it.
pub(super) struct Listener {
    pub(super) core: Arc<Core>,
    pub(super) state: Arc<ListenerState>,
}

impl dat_provider::Listener for Listener {}

impl Drop for Listener {
    fn drop(&mut self) {
        let open = self.state.open.lock().take();
        self.core.submit(Job::Forget(self.state.token));
        // The sink may own objects of the consumer, so it is dropped without the lock.
        drop(open);
    }
}
