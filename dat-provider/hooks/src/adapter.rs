//! The layer's adapter, and how it is opened.

use std::sync::Arc;

use super::call::Call;
use super::completion::{self, Queue, QueueSink};
use super::connection::RequestSink;
use super::domain::Domain;
use super::hooks::{Hooks, Layer};
use super::object::{Kind, Object};
use super::queue_pair;
use super::shared_receive::{SharedReceives, WatermarkSink};
use dat_provider::error::Result;
use dat_provider::verbs::VerbsAdapter;
use dat_provider::{
    Adapter, AdapterAttributes, AdapterSink, Address, AsyncUpcall, CompletionQueue,
    CompletionQueueParts, CompletionSink, DeviceCounters, ListenSink, ListenerParts, OpenRequest,
    ProtectionDomain, QueuePair, QueuePairSpec, SharedReceiveLimits, SharedReceiveQueue,
    SharedReceiveSink, WaiterProgress,
};

/// Opens an adapter with `open` and puts a layer of hooks over it. A decorator calls this in its
/// [`Provider::open`](dat_provider::Provider::open).
///
/// # Errors
/// The error of `open` or [`Hooks::admit`].
pub fn open_with<H: Hooks>(
    request: OpenRequest<'_>,
    hooks: H,
    open: impl FnOnce(OpenRequest<'_>) -> Result<Arc<dyn Adapter>>,
) -> Result<Arc<dyn Adapter>> {
    let layer = Layer::new(hooks);
    let OpenRequest { name, parameters, sink } = request;
    let outer = Arc::clone(&sink);
    let sink = Arc::new(AsyncSink { layer: Arc::clone(&layer), outer: sink });
    let inner = layer.call(layer.adapter, &Call::Open { parameters }, || {
        open(OpenRequest { name, parameters, sink })
    })?;
    // Hooks may change them; the layer's own adapter answers from this copy.
    let mut attributes = inner.attributes();
    layer.hooks.opened(&inner, &mut attributes);
    Ok(Arc::new(Decorated { layer, inner, attributes, _outer: outer }))
}

struct Decorated<H> {
    layer: Arc<Layer<H>>,
    inner: Arc<dyn Adapter>,
    attributes: AdapterAttributes,
    /// Keeps the sink alive: hooks may report to it as long as the adapter is open.
    _outer: Arc<dyn AdapterSink>,
}

impl<H: Hooks> Decorated<H> {
    fn listening(
        &self,
        qualifier: Option<u64>,
        sink: Arc<dyn ListenSink>,
        listen: impl FnOnce(Arc<dyn ListenSink>) -> Result<ListenerParts>,
    ) -> Result<ListenerParts> {
        let object = self.layer.number(Kind::Listener);
        let sink = Arc::new(RequestSink { layer: Arc::clone(&self.layer), outer: sink });
        let parts = self.layer.call(object, &Call::Listen { qualifier }, || listen(sink))?;
        self.layer.hooks.listening(parts.qualifier);
        Ok(parts)
    }
}

impl<H: Hooks> Adapter for Decorated<H> {
    fn attributes(&self) -> AdapterAttributes {
        self.attributes.clone()
    }

    fn create_domain(&self) -> Result<Arc<dyn ProtectionDomain>> {
        let object = self.layer.number(Kind::Domain);
        let create = || self.inner.create_domain();
        let inner = self.layer.call(object, &Call::CreateDomain, create)?;
        Ok(Arc::new(Domain { layer: Arc::clone(&self.layer), inner }))
    }

    fn create_completion_queue(
        &self,
        depth: usize,
        sink: Arc<dyn CompletionSink>,
    ) -> Result<CompletionQueueParts> {
        let object = self.layer.number(Kind::CompletionQueue);
        let sink = Arc::new(QueueSink { layer: Arc::clone(&self.layer), object, outer: sink });
        let call = Call::CreateCompletionQueue { depth };
        let create = || self.inner.create_completion_queue(depth, sink);
        let parts = self.layer.call(object, &call, create)?;
        Ok(completion::wrap(&self.layer, object, parts, depth))
    }

    // `defers_queue_pairs` is not forwarded: hooks see the creation of a queue pair, and can make it fail, in the call
    // that creates the endpoint.
    fn create_queue_pair(&self, spec: QueuePairSpec) -> Result<Box<dyn QueuePair>> {
        queue_pair::create(&self.layer, &*self.inner, spec)
    }

    fn create_shared_receive_queue(
        &self,
        domain: Arc<dyn ProtectionDomain>,
        limits: SharedReceiveLimits,
        sink: Arc<dyn SharedReceiveSink>,
    ) -> Result<Arc<dyn SharedReceiveQueue>> {
        let object = self.layer.number(Kind::SharedReceiveQueue);
        let domain = Domain::<H>::below(&domain);
        let sink = Arc::new(WatermarkSink { layer: Arc::clone(&self.layer), object, outer: sink });
        let inner = self.layer.call(object, &Call::CreateSharedReceives { limits }, || {
            self.inner.create_shared_receive_queue(domain, limits, sink)
        })?;
        Ok(Arc::new(SharedReceives { layer: Arc::clone(&self.layer), object, inner }))
    }

    fn listen(&self, qualifier: Option<u64>, sink: Arc<dyn ListenSink>) -> Result<ListenerParts> {
        self.listening(qualifier, sink, |sink| self.inner.listen(qualifier, sink))
    }

    fn listen_at(
        &self,
        address: Address,
        qualifier: u64,
        sink: Arc<dyn ListenSink>,
    ) -> Result<ListenerParts> {
        let listen = |sink| self.inner.listen_at(address, qualifier, sink);
        self.listening(Some(qualifier), sink, listen)
    }

    dat_provider::forward! { self => self.inner;
        fn for_verbs() -> &dyn VerbsAdapter;
        fn waiter_progress() -> Option<Arc<dyn WaiterProgress>>;
        fn counters() -> DeviceCounters;
    }
}

/// Passes asynchronous errors on.
struct AsyncSink<H> {
    layer: Arc<Layer<H>>,
    outer: Arc<dyn AdapterSink>,
}

impl<H: Hooks> AdapterSink for AsyncSink<H> {
    fn async_event(&self, event: AsyncUpcall) {
        let object = match event {
            AsyncUpcall::QueuePairBroken { tag } => Object { kind: Kind::QueuePair, number: tag },
            AsyncUpcall::Catastrophic | AsyncUpcall::ProviderInternal => self.layer.adapter,
        };
        self.layer.note(object, &Call::AsyncEvent(event));
        self.outer.async_event(event);
    }
}

/// The object below, if the given one belongs to this layer; otherwise the object itself, which the
/// provider below then refuses with its own error.
macro_rules! below {
    ($name:ident, $contract:ident) => {
        impl<H: Hooks> $name<H> {
            pub(super) fn below(object: &Arc<dyn $contract>) -> Arc<dyn $contract> {
                match (**object).as_any().downcast_ref::<Self>() {
                    Some(own) => Arc::clone(&own.inner),
                    None => Arc::clone(object),
                }
            }
        }
    };
}

below!(Domain, ProtectionDomain);
below!(Queue, CompletionQueue);
below!(SharedReceives, SharedReceiveQueue);
