//! The layer's connection requests, and the sink for its connection events.

use std::sync::Arc;

use super::call::{Call, Kind, Object};
use super::hooks::{Hooks, Layer};
use super::queue_pair::Pair;
use crate::error::Result;
use crate::{ConnectionSink, ConnectionUpcall, Incoming, ListenSink, Peer, QueuePair};

/// Forwards requests as objects of the layer.
pub(super) struct RequestSink<H> {
    pub(super) layer: Arc<Layer<H>>,
    pub(super) outer: Arc<dyn ListenSink>,
}

impl<H: Hooks> ListenSink for RequestSink<H> {
    fn connection_request(
        &self,
        incoming: Box<dyn Incoming>,
    ) -> std::result::Result<(), Box<dyn Incoming>> {
        let object = self.layer.number(Kind::Request);
        let (peer, private_data) = (incoming.peer(), incoming.private_data().len());
        self.layer.note(object, &Call::ConnectionRequest { peer, private_data });
        // Keep a reference, so that a request that is given back can be returned unchanged.
        let inner = Arc::new(incoming);
        let request = Asked { inner: Arc::clone(&inner), layer: Arc::clone(&self.layer), object };
        match self.outer.connection_request(Box::new(request)) {
            Ok(()) => Ok(()),
            Err(back) => {
                drop(back);
                // If another reference is left, the request is refused when that one is dropped,
                // which has the same effect.
                Arc::try_unwrap(inner).map_or(Ok(()), Err)
            }
        }
    }
}

struct Asked<H> {
    inner: Arc<Box<dyn Incoming>>,
    layer: Arc<Layer<H>>,
    object: Object,
}

impl<H: Hooks> Incoming for Asked<H> {
    fn peer(&self) -> Peer {
        self.inner.peer()
    }

    fn is_datagram(&self) -> bool {
        self.inner.is_datagram()
    }

    fn private_data(&self) -> &[u8] {
        self.inner.private_data()
    }

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
}
