//! The stub with parts that a test replaces.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dat_core::provider::stub::StubProvider;
use dat_core::provider::{
    Adapter, AdapterAttributes, CompletionQueueParts, CompletionSink, ConnectRequest,
    ConnectionSink, ConnectionUpcall, Description, DiscoveredAdapter, ListenSink, ListenerParts,
    OpenRequest, Outstanding, ProtectionDomain, Provider, QueuePair, QueuePairSpec, ReceiveRequest,
    Request, WaiterProgress,
};
use dat_core::{AsyncEvd, Close, Error, Ia, IaOptions, Registry};

/// Creates the parts of a completion queue with this sink.
type CreateQueue = Arc<dyn Fn(Arc<dyn CompletionSink>) -> CompletionQueueParts + Send + Sync>;

/// What replaces the stub's own.
#[derive(Clone, Default)]
pub(crate) struct AlteredStub {
    pub(crate) create_queue: Option<CreateQueue>,
    pub(crate) progress: Option<Arc<dyn WaiterProgress>>,
    /// Attempts to connect, also for datagrams.
    pub(crate) attempts: Option<Arc<dyn Attempts>>,
    /// The first use of an endpoint creates its queue pair, and this many creations fail.
    pub(crate) refusals: Option<Arc<AtomicU32>>,
}

struct AlteredAdapter {
    stub: Arc<dyn Adapter>,
    parts: AlteredStub,
}

const NAME: &str = "altered";

/// Opens the adapter of the stub, or of a provider around it, without a dispatcher of asynchronous errors.
pub(crate) fn open(provider: Arc<dyn Provider>) -> Ia {
    let registry = Registry::new();
    registry.add_provider(provider).expect("the first");
    let options = IaOptions { async_evd: AsyncEvd::Foreign, ..IaOptions::default() };
    registry.open_with(NAME, &options).expect("opens")
}

impl Provider for AlteredStub {
    fn describe(&self) -> Description {
        Description { name: NAME, ..StubProvider.describe() }
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        vec![DiscoveredAdapter { name: NAME.into(), ..DiscoveredAdapter::default() }]
    }

    fn open(&self, request: OpenRequest<'_>) -> dat_core::Result<Arc<dyn Adapter>> {
        let stub = StubProvider.open(OpenRequest { parameters: "", ..request })?;
        Ok(Arc::new(AlteredAdapter { stub, parts: self.clone() }))
    }
}

impl Adapter for AlteredAdapter {
    fn attributes(&self) -> AdapterAttributes {
        let mut attributes = self.stub.attributes();
        attributes.provider.datagrams_supported |= self.parts.attempts.is_some();
        attributes
    }

    fn create_domain(&self) -> dat_core::Result<Arc<dyn ProtectionDomain>> {
        self.stub.create_domain()
    }

    fn create_completion_queue(
        &self,
        depth: usize,
        sink: Arc<dyn CompletionSink>,
    ) -> dat_core::Result<CompletionQueueParts> {
        match &self.parts.create_queue {
            Some(create) => Ok(create(sink)),
            None => self.stub.create_completion_queue(depth, sink),
        }
    }

    fn create_queue_pair(&self, spec: QueuePairSpec) -> dat_core::Result<Box<dyn QueuePair>> {
        if let Some(refusals) = &self.parts.refusals {
            let count = |left: u32| left.checked_sub(1);
            if refusals.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count).is_ok() {
                return Err(Error::no_memory("the endpoint"));
            }
        }
        let Some(attempts) = self.parts.attempts.clone() else {
            return self.stub.create_queue_pair(spec);
        };
        let sink = Arc::clone(&spec.sink);
        let stub = self.stub.create_queue_pair(spec)?;
        Ok(Box::new(Connecting { stub, attempts, sink }))
    }

    fn defers_queue_pairs(&self) -> dat_core::Result<bool> {
        Ok(self.parts.refusals.is_some())
    }

    fn listen(
        &self,
        qualifier: Option<u64>,
        sink: Arc<dyn ListenSink>,
    ) -> dat_core::Result<ListenerParts> {
        self.stub.listen(qualifier, sink)
    }

    fn waiter_progress(&self) -> Option<Arc<dyn WaiterProgress>> {
        self.parts.progress.clone()
    }
}

/// The attempts to connect of queue pairs.
pub(crate) trait Attempts: Send + Sync {
    /// An attempt with this number begins.
    fn connect(&self, attempt: u64, sink: &dyn ConnectionSink);

    /// The core has ended an attempt.
    fn abandon(&self, _attempt: u64) {}
}

/// Every attempt ends so at once.
impl Attempts for ConnectionUpcall<'static> {
    fn connect(&self, attempt: u64, sink: &dyn ConnectionSink) {
        sink.connection_event(attempt, *self);
    }
}

/// A queue pair with these attempts.
struct Connecting {
    stub: Box<dyn QueuePair>,
    attempts: Arc<dyn Attempts>,
    sink: Arc<dyn ConnectionSink>,
}

impl QueuePair for Connecting {
    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> dat_core::Result<()> {
        self.stub.post_receive(receive)
    }

    fn post_request(&self, request: &Request<'_>) -> dat_core::Result<()> {
        self.stub.post_request(request)
    }

    fn connect(&self, request: &ConnectRequest<'_>) -> dat_core::Result<()> {
        self.attempts.connect(request.attempt, &*self.sink);
        Ok(())
    }

    fn abandon(&self, attempt: u64) {
        self.attempts.abandon(attempt);
    }

    fn disconnect(&self, how: Close) {
        self.stub.disconnect(how);
    }

    fn reset(&self) -> dat_core::Result<()> {
        self.stub.reset()
    }

    fn modify(&self, spec: QueuePairSpec) -> dat_core::Result<()> {
        self.stub.modify(spec)
    }

    fn outstanding(&self) -> Outstanding {
        self.stub.outstanding()
    }
}
