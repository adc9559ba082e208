//! A provider whose completions the models make: the stub with a completion queue of its own.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use crate::error::Result;
use crate::provider::{
    Adapter, AdapterAttributes, CONTRACT_VERSION, Completion, CompletionFeatures, CompletionPoller,
    CompletionQueue, CompletionQueueParts, CompletionSink, Description, Discovered, ListenSink,
    Listener, Notify, OpenRequest, ProtectionDomain, Provider, QueuePair, QueuePairSpec,
    stub::StubProvider,
};
use crate::sync::Mutex;
use crate::{AsyncErrors, EvdFlags, EvdOptions, EventDispatcher, IaOptions, InterfaceAdapter};

/// The completion queue that was made last.
#[derive(Default)]
struct Made {
    queue: OnceLock<Completions>,
}

struct ModelProvider(Arc<Made>);

impl Provider for ModelProvider {
    fn describe(&self) -> Description {
        Description {
            name: "model",
            vendor: "dat-core",
            version: (0, 1),
            contract: CONTRACT_VERSION,
        }
    }

    fn discover(&self) -> Vec<Discovered> {
        vec![Discovered {
            name: "model".to_owned(),
            summary: "completes what the models say".to_owned(),
            unusable: None,
        }]
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let adapter = StubProvider.open(request)?;
        Ok(Arc::new(ModelAdapter { adapter, made: Arc::clone(&self.0) }))
    }
}

struct ModelAdapter {
    adapter: Arc<dyn Adapter>,
    made: Arc<Made>,
}

impl Adapter for ModelAdapter {
    fn attributes(&self) -> AdapterAttributes {
        self.adapter.attributes()
    }

    fn create_domain(&self) -> Result<Arc<dyn ProtectionDomain>> {
        self.adapter.create_domain()
    }

    fn create_completion_queue(
        &self,
        _depth: usize,
        sink: Arc<dyn CompletionSink>,
    ) -> Result<CompletionQueueParts> {
        let shared = Arc::new(Shared { state: Mutex::default(), sink });
        let _ = self.made.queue.set(Completions(Arc::clone(&shared)));
        Ok(CompletionQueueParts { queue: Arc::new(Half), poller: Box::new(Poller(shared)) })
    }

    fn create_queue_pair(&self, spec: QueuePairSpec) -> Result<Arc<dyn QueuePair>> {
        self.adapter.create_queue_pair(spec)
    }

    fn listen(
        &self,
        qualifier: Option<u64>,
        sink: Arc<dyn ListenSink>,
    ) -> Result<Box<dyn Listener>> {
        self.adapter.listen(qualifier, sink)
    }
}

struct Shared {
    state: Mutex<State>,
    sink: Arc<dyn CompletionSink>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Completion>,
    notify: Notify,
}

struct Half;

impl CompletionQueue for Half {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct Poller(Arc<Shared>);

impl CompletionPoller for Poller {
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        let mut state = self.0.state.lock();
        let count = state.waiting.len().min(into.len());
        for (place, completion) in into.iter_mut().zip(state.waiting.drain(..count)) {
            *place = completion;
        }
        count
    }

    fn notify(&mut self, mode: Notify) -> bool {
        let mut state = self.0.state.lock();
        state.notify = mode;
        !state.waiting.is_empty()
    }

    fn resize(&mut self, _depth: usize) -> Result<()> {
        Ok(())
    }
}

/// The other end of a completion queue.
#[derive(Clone)]
pub(super) struct Completions(Arc<Shared>);

impl Completions {
    /// A completion arrives; it makes its upcall where that was asked for.
    pub(super) fn arrive(&self, cookie: u64) {
        let wanted = {
            let mut state = self.0.state.lock();
            state.waiting.push_back(Completion { cookie, ..Completion::default() });
            state.notify.wants(CompletionFeatures::default())
        };
        if wanted {
            self.0.sink.completion_ready();
        }
    }
}

/// An adapter of the model's, and a registry's worth of what it needs.
pub(super) fn open() -> (InterfaceAdapter, impl FnOnce() -> Completions) {
    let made = Arc::new(Made::default());
    let registry = crate::Registry::new();
    let provider = Arc::new(ModelProvider(Arc::clone(&made)));
    registry.add_provider(provider).expect("the first");
    let options = IaOptions { async_evd: AsyncErrors::Elsewhere, ..IaOptions::default() };
    let ia = registry.open_with("model", &options).expect("opens");
    (ia, move || made.queue.get().expect("a dispatcher was made").clone())
}

/// A dispatcher for software events and completions, and its completion queue.
pub(super) fn dispatcher() -> (EventDispatcher, Completions) {
    let (ia, completions) = open();
    let flags = EvdFlags::SOFTWARE | EvdFlags::DTO;
    let evd = ia.evd_create(&EvdOptions::new(4, flags)).expect("a dispatcher");
    (evd, completions())
}
