//! The loopback provider with other attributes: for what the real one never lacks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dat_core::provider::{
    Adapter, AdapterAttributes, CONTRACT_VERSION, CompletionQueueParts, CompletionSink,
    Description, Discovered, ListenSink, Listener, OpenRequest, ProtectionDomain, Provider,
    QueuePair, QueuePairSpec, SharedReceiveLimits, SharedReceiveQueue, SharedReceiveSink,
};
use dat_core::{Error, InterfaceAdapter, Registry, Result, ReturnType, Subtype};

use crate::node::fresh_address;

/// Changes what an adapter says of itself.
pub type Change = fn(&mut AdapterAttributes);

/// What the next calls to an altered adapter do; shared with its provider.
#[derive(Debug, Default)]
pub struct Faults {
    /// No queue pair can be made.
    pub no_queue_pairs: AtomicBool,
    /// Nothing can listen.
    pub no_listeners: AtomicBool,
}

impl Faults {
    fn check(flag: &AtomicBool, what: &'static str) -> Result<()> {
        if flag.load(Ordering::Relaxed) {
            return Err(Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice)
                .because(format!("the device has no {what} left")));
        }
        Ok(())
    }
}

struct Altered {
    change: Change,
    faults: Arc<Faults>,
}

struct AlteredAdapter {
    inner: Arc<dyn Adapter>,
    change: Change,
    faults: Arc<Faults>,
}

/// A loopback adapter that says other things of itself.
///
/// # Panics
/// When it can't be opened.
#[track_caller]
#[must_use]
pub fn open(parameters: &str, change: Change) -> InterfaceAdapter {
    open_faulty(parameters, change).0
}

/// The same, with the switches of its faults.
///
/// # Panics
/// When it can't be opened.
#[track_caller]
#[must_use]
pub fn open_faulty(parameters: &str, change: Change) -> (InterfaceAdapter, Arc<Faults>) {
    let faults = Arc::<Faults>::default();
    let registry = Registry::new();
    let provider = Altered { change, faults: Arc::clone(&faults) };
    registry.add_provider(Arc::new(provider)).expect("an empty registry");
    let name = format!("altered?address={},{parameters}", fresh_address());
    (registry.open(&name).expect("the altered adapter"), faults)
}

impl Provider for Altered {
    fn describe(&self) -> Description {
        Description {
            name: "altered",
            vendor: "DAT tests",
            version: (1, 0),
            contract: CONTRACT_VERSION,
        }
    }

    fn discover(&self) -> Vec<Discovered> {
        vec![Discovered {
            name: "altered".to_owned(),
            summary: "loopback with other attributes".to_owned(),
            unusable: None,
        }]
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let inner = provider_loopback::provider().open(request.clone())?;
        let (change, faults) = (self.change, Arc::clone(&self.faults));
        Ok(Arc::new(AlteredAdapter { inner, change, faults }))
    }
}

impl Adapter for AlteredAdapter {
    fn attributes(&self) -> AdapterAttributes {
        let mut attributes = self.inner.attributes();
        (self.change)(&mut attributes);
        attributes
    }

    fn create_domain(&self) -> Result<Arc<dyn ProtectionDomain>> {
        self.inner.create_domain()
    }

    fn create_completion_queue(
        &self,
        depth: usize,
        sink: Arc<dyn CompletionSink>,
    ) -> Result<CompletionQueueParts> {
        self.inner.create_completion_queue(depth, sink)
    }

    fn create_queue_pair(&self, spec: QueuePairSpec) -> Result<Arc<dyn QueuePair>> {
        Faults::check(&self.faults.no_queue_pairs, "queue pair")?;
        self.inner.create_queue_pair(spec)
    }

    fn create_shared_receive_queue(
        &self,
        domain: Arc<dyn ProtectionDomain>,
        limits: SharedReceiveLimits,
        sink: Arc<dyn SharedReceiveSink>,
    ) -> Result<Arc<dyn SharedReceiveQueue>> {
        self.inner.create_shared_receive_queue(domain, limits, sink)
    }

    fn listen(
        &self,
        qualifier: Option<u64>,
        sink: Arc<dyn ListenSink>,
    ) -> Result<Box<dyn Listener>> {
        Faults::check(&self.faults.no_listeners, "listener")?;
        self.inner.listen(qualifier, sink)
    }
}
