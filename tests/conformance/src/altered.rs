//! The adapter under test with other attributes: for what it may never lack.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dat_core::provider::{
    Adapter, AdapterAttributes, CONTRACT_VERSION, CompletionQueueParts, CompletionSink,
    Description, Discovered, HotArc, ListenSink, Listener, OpenRequest, ProtectionDomain, Provider,
    QueuePair, QueuePairSpec, SharedReceiveLimits, SharedReceiveQueue, SharedReceiveSink,
};
use dat_core::{ApiVersion, Error, InterfaceAdapter, Registry, Result, ReturnType, Subtype};

use parking_lot::Mutex;

use crate::case::skip;
use crate::target::{self, takes_parameters, target};

/// Changes what an adapter says of itself.
pub type Change = fn(&mut AdapterAttributes);

/// What the next calls to an altered adapter do; shared with its provider.
#[derive(Debug, Default)]
pub struct Faults {
    /// No queue pair can be made.
    pub no_queue_pairs: AtomicBool,
    /// Nothing can listen.
    pub no_listeners: AtomicBool,
    /// What happens between the begin of the next listening and the return of that call.
    pub while_listening: Meanwhile,
}

type Happening = Box<dyn FnOnce(u64) + Send>;

/// Something that happens once, and is told the qualifier that is listened on.
#[derive(Default)]
pub struct Meanwhile(Mutex<Option<Happening>>);

impl Meanwhile {
    /// Has it happen the next time.
    pub fn set(&self, happening: impl FnOnce(u64) + Send + 'static) {
        *self.0.lock() = Some(Box::new(happening));
    }

    fn happen(&self, qualifier: u64) {
        let happening = self.0.lock().take();
        if let Some(happening) = happening {
            happening(qualifier);
        }
    }
}

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Meanwhile({})", if self.0.lock().is_some() { "set" } else { "nothing" })
    }
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

/// An instance of the adapter under test that says other things of itself.
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
    let address = target::fresh_address();
    let name = match (takes_parameters(), parameters) {
        (true, _) => format!("altered?address={address},{parameters}"),
        (false, "") => "altered".to_owned(),
        (false, _) => {
            skip(format!("the adapter takes no parameters, and the case needs {parameters}"))
        }
    };
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
            summary: "the adapter under test with other attributes".to_owned(),
            unusable: None,
        }]
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let target = target();
        let candidates = target.registry.resolve(&target.name, ApiVersion::ANY)?;
        let below = &candidates[0];
        let parameters = format!("{} {}", below.parameters, request.parameters);
        let inner = below.provider.open(OpenRequest {
            name: &below.adapter_name,
            parameters: parameters.trim(),
            sink: request.sink,
        })?;
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

    fn create_queue_pair(&self, spec: QueuePairSpec) -> Result<HotArc<dyn QueuePair>> {
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
        let listener = self.inner.listen(qualifier, sink)?;
        self.faults.while_listening.happen(listener.qualifier());
        Ok(listener)
    }
}
