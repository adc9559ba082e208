//! The layer's connection requests, and the sink for its connection events.

use std::sync::Arc;

use super::call::Call;
use super::hooks::{Hooks, Layer};
use super::object::{Kind, Object};
use super::queue_pair::Pair;
use dat_provider::error::Result;
use dat_provider::{
    ConnectionSink, ConnectionUpcall, IncomingRequest, ListenSink, QueuePair, Responder,
};

/// Forwards requests as objects of the layer.
pub(super) struct RequestSink<H> {
    pub(super) layer: Arc<Layer<H>>,
    pub(super) outer: Arc<dyn ListenSink>,
}

impl<H: Hooks> ListenSink for RequestSink<H> {
    fn connection_request(
        &self,
        incoming: IncomingRequest,
    ) -> std::result::Result<(), IncomingRequest> {
        let object = self.layer.number(Kind::Request);
        let IncomingRequest { peer, ref private_data, .. } = incoming;
        let private_data = private_data.len();
        self.layer.note(object, &Call::ConnectionRequest { peer, private_data });
        // Keep a reference, so that a request that is given back can be returned unchanged.
        let inner = Arc::new(incoming.responder);
        let layer = Arc::clone(&self.layer);
        let responder = Box::new(Answered { inner: Arc::clone(&inner), layer, object });
        match self.outer.connection_request(IncomingRequest { responder, ..incoming }) {
            Ok(()) => Ok(()),
            Err(IncomingRequest { responder, peer, is_datagram, private_data }) => {
                drop(responder);
                // If another reference is left, the request is refused when that one is dropped,
                // which has the same effect.
                let Ok(responder) = Arc::try_unwrap(inner) else { return Ok(()) };
                Err(IncomingRequest { peer, is_datagram, private_data, responder })
            }
        }
    }
}

struct Answered<H> {
    inner: Arc<Box<dyn Responder>>,
    layer: Arc<Layer<H>>,
    object: Object,
}

impl<H: Hooks> Responder for Answered<H> {
    fn accept(&self, queue_pair: &dyn QueuePair, attempt: u64, private_data: &[u8]) -> Result<()> {
        let call = Call::Accept { attempt, private_data: private_data.len() };
        self.layer.call(self.object, &call, || {
            self.inner.accept(Pair::<H>::below(queue_pair), attempt, private_data)
        })
    }

    fn reject(&self, private_data: &[u8]) -> Result<()> {
        let call = Call::Reject { private_data: private_data.len() };
        self.layer.call(self.object, &call, || self.inner.reject(private_data))
    }
}

/// Forwards the connection events of a queue pair.
pub(super) struct EventSink<H: Hooks> {
    pub(super) layer: Arc<Layer<H>>,
    pub(super) object: Object,
    pub(super) end: H::End,
    pub(super) outer: Arc<dyn ConnectionSink>,
}

impl<H: Hooks> ConnectionSink for EventSink<H> {
    fn connection_event(&self, attempt: u64, event: ConnectionUpcall<'_>) {
        self.layer.note(self.object, &Call::ConnectionEvent { attempt, event });
        self.layer.hooks.event(&self.end, &self.outer, attempt, event);
    }

    fn receive_awaited(&self, attempt: u64) {
        self.outer.receive_awaited(attempt);
    }
}
