//! The layer's queue pairs.

use std::sync::Arc;

use super::call::Call;
use super::completion::Queue;
use super::connection::EventSink;
use super::domain::{Domain, Region, Window};
use super::hooks::{Hooks, Layer, Queues};
use super::object::{Kind, Object};
use super::shared_receive::SharedReceives;
use dat_provider::Failure;
use dat_provider::error::Result;
use dat_provider::flags::Close;
use dat_provider::verbs::VerbsQueuePair;
use dat_provider::{
    Activity, Adapter, BindRequest, ConnectRequest, Outstanding, QueuePair, QueuePairSpec,
    ReceiveRequest, RemoteAddress, Request,
};

pub(super) struct Pair<H: Hooks> {
    // Declared first, so that it is dropped before the state of the hooks.
    inner: Box<dyn QueuePair>,
    kept: H::Pair,
    layer: Arc<Layer<H>>,
    object: Object,
}

pub(super) fn create<H: Hooks>(
    layer: &Arc<Layer<H>>,
    adapter: &dyn Adapter,
    spec: QueuePairSpec,
) -> Result<Box<dyn QueuePair>> {
    let object = Object { kind: Kind::QueuePair, number: spec.tag };
    let kept = layer.hooks.pair(spec.tag, queues::<H>(&spec));
    let call = Call::CreateQueuePair { limits: spec.limits };
    let spec = below(layer, object, layer.hooks.end(&kept), spec);
    let inner = layer.call(object, &call, || adapter.create_queue_pair(spec))?;
    Ok(Box::new(Pair { inner, kept, layer: Arc::clone(layer), object }))
}

/// The hooks' state of the completion queues in a specification.
fn queues<H: Hooks>(spec: &QueuePairSpec) -> Queues<H::Queue> {
    let kept = |queue: &Option<_>| queue.as_deref().and_then(Queue::<H>::kept);
    Queues { request: kept(&spec.request_queue), receive: kept(&spec.receive_queue) }
}

/// Translates the specification to objects of the provider below.
fn below<H: Hooks>(
    layer: &Arc<Layer<H>>,
    object: Object,
    end: H::End,
    spec: QueuePairSpec,
) -> QueuePairSpec {
    QueuePairSpec {
        tag: spec.tag,
        service: spec.service,
        domain: spec.domain.as_ref().map(Domain::<H>::below),
        request_queue: spec.request_queue.as_ref().map(Queue::<H>::below),
        receive_queue: spec.receive_queue.as_ref().map(Queue::<H>::below),
        shared_receives: spec.shared_receives.as_ref().map(SharedReceives::<H>::below),
        limits: spec.limits,
        verbs: spec.verbs,
        epochs: spec.epochs,
        sink: Arc::new(EventSink { layer: Arc::clone(layer), object, end, outer: spec.sink }),
    }
}

impl<H: Hooks> Pair<H> {
    pub(super) fn below(queue_pair: &dyn QueuePair) -> &dyn QueuePair {
        queue_pair.as_any().downcast_ref::<Self>().map_or(queue_pair, |own| &*own.inner)
    }

    #[inline]
    fn post<T>(&self, call: &Call<'_>, inner: impl FnOnce() -> Result<T>) -> Result<T> {
        let posted = self.layer.call(self.object, call, inner)?;
        self.layer.hooks.posted(&self.kept, &*self.inner, call);
        Ok(posted)
    }
}

impl<H: Hooks> QueuePair for Pair<H> {
    dat_provider::forward! { self => self.inner;
        fn for_verbs() -> &dyn VerbsQueuePair;
        fn connecting_port() -> Option<u64>;
        fn outstanding() -> Outstanding;
        fn failure() -> Option<Failure>;
        fn activity() -> Activity;
    }

    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        self.post(&Call::PostReceive(receive), || self.inner.post_receive(receive))
    }

    fn post_request(&self, request: &Request<'_>) -> Result<()> {
        self.post(&Call::PostRequest(request), || self.inner.post_request(request))
    }

    fn post_datagram(&self, to: &RemoteAddress, request: &Request<'_>) -> Result<()> {
        let call = Call::PostDatagram { to, request };
        self.post(&call, || self.inner.post_datagram(to, request))
    }

    fn post_bind(&self, bind: &BindRequest<'_>) -> Result<u32> {
        let call = Call::PostBind { length: bind.length, cookie: bind.cookie };
        let bind = BindRequest {
            window: Window::<H>::below(bind.window),
            region: bind.region.map(Region::<H>::below),
            ..*bind
        };
        self.post(&call, || self.inner.post_bind(&bind))
    }

    fn connect(&self, request: &ConnectRequest<'_>) -> Result<()> {
        self.layer.call(self.object, &Call::Connect(request), || {
            self.layer.hooks.connect(&self.kept, &*self.inner, request)
        })
    }

    fn communication_established(&self, attempt: u64) {
        self.layer.note(self.object, &Call::CommunicationEstablished { attempt });
        self.layer.hooks.communication_established(&self.kept, &*self.inner, attempt);
    }

    fn abandon(&self, attempt: u64) {
        self.layer.note(self.object, &Call::Abandon { attempt });
        self.inner.abandon(attempt);
    }

    fn disconnect(&self, how: Close) {
        self.layer.hooks.disconnect(&self.kept, &*self.inner, how);
        self.layer.note(self.object, &Call::Disconnect { how });
    }

    fn reset(&self) -> Result<()> {
        self.layer
            .call(self.object, &Call::Reset, || self.layer.hooks.reset(&self.kept, &*self.inner))
    }

    fn modify(&self, spec: QueuePairSpec) -> Result<()> {
        let queues = queues::<H>(&spec);
        let call = Call::Modify { limits: spec.limits };
        let spec = below(&self.layer, self.object, self.layer.hooks.end(&self.kept), spec);
        self.layer.call(self.object, &call, || self.inner.modify(spec))?;
        self.layer.hooks.modified(&self.kept, queues);
        Ok(())
    }

    fn shutdown(&self) {
        self.layer.hooks.shutdown(&self.kept, &*self.inner);
        self.layer.note(self.object, &Call::Shutdown);
    }
}
