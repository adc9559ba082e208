//! A provider around the adapter under test that reports other attributes or fails calls, for
//! rules about limits and failures that the adapter itself does not have: a decorator
//! whose hooks a case controls.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dat_core::provider::{
    Adapter, AdapterAttributes, CompletionPoller, Description, DiscoveredAdapter, OpenRequest,
    Provider, Reach,
};
use dat_core::{ApiVersion, Error, Ia, Registry, Result, ReturnType, Subtype};
use dat_provider_hooks::{Call, Hooks, Object, Queues, open_with};
use parking_lot::Mutex;

use crate::case::skip;
use crate::fixture::Node;
use crate::target::{self, takes_parameters, target};

/// Changes the attributes that an adapter reports.
pub type Change = fn(&mut AdapterAttributes);

/// The faults of an adapter; the case sets them while it runs.
#[derive(Debug, Default)]
pub struct Faults {
    /// Creating a queue pair fails.
    pub no_queue_pairs: AtomicBool,
    /// Listening fails.
    pub no_listeners: AtomicBool,
    /// Runs once, after the next listener has started and before the call that starts it returns.
    pub while_listening: Hook,
}

type Callback = Box<dyn FnOnce(u64) + Send>;

/// A callback that runs once, with the connection qualifier of the listener.
#[derive(Default)]
pub struct Hook(Mutex<Option<Callback>>);

impl Hook {
    /// Sets the callback.
    pub fn set(&self, callback: impl FnOnce(u64) + Send + 'static) {
        *self.0.lock() = Some(Box::new(callback));
    }

    fn run(&self, qualifier: u64) {
        let callback = self.0.lock().take();
        if let Some(callback) = callback {
            callback(qualifier);
        }
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hook({})", if self.0.lock().is_some() { "set" } else { "unset" })
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

struct FaultProvider {
    change: Change,
    faults: Arc<Faults>,
}

/// Opens the adapter under test with changed attributes.
#[track_caller]
#[must_use]
pub fn open(parameters: &str, change: Change) -> Ia {
    open_with_faults(parameters, change).0
}

/// A node on the adapter under test with changed attributes.
#[track_caller]
pub(crate) fn node(change: Change) -> Node {
    Node::on(open("", change))
}

/// Opens the adapter under test with changed attributes, and returns its faults.
#[track_caller]
#[must_use]
pub fn open_with_faults(parameters: &str, change: Change) -> (Ia, Arc<Faults>) {
    let faults = Arc::<Faults>::default();
    let registry = Registry::new();
    let provider = FaultProvider { change, faults: Arc::clone(&faults) };
    registry.add_provider(Arc::new(provider)).expect("an empty registry");
    let address = target::fresh_address();
    let name = match (takes_parameters(), parameters) {
        (true, _) => format!("faulty?address={address},{parameters}"),
        (false, "") => "faulty".to_owned(),
        (false, _) => {
            skip(format!("the adapter takes no parameters, and the case needs {parameters}"))
        }
    };
    (registry.open(&name).expect("the adapter under test opens"), faults)
}

impl Provider for FaultProvider {
    fn describe(&self) -> Description {
        Description { name: "faulty", vendor: "DAT tests", version: (1, 0), reach: Reach::Process }
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        vec![DiscoveredAdapter {
            name: "faulty".to_owned(),
            summary: "the adapter under test with other attributes".to_owned(),
            unusable: None,
        }]
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let target = target();
        let candidates = target.registry.resolve(&target.name, ApiVersion::ANY)?;
        let below = &candidates[0];
        let parameters = format!("{} {}", below.parameters, request.parameters);
        let request = OpenRequest {
            name: &below.adapter_name,
            parameters: parameters.trim(),
            sink: request.sink,
        };
        let hooks = CaseHooks { change: self.change, faults: Arc::clone(&self.faults) };
        open_with(request, hooks, |request| dat_provider_hooks::open(&*below.provider, request))
    }
}

/// What the cases change of an open adapter.
struct CaseHooks {
    change: Change,
    faults: Arc<Faults>,
}

impl Hooks for CaseHooks {
    type Queue = ();
    type Pair = ();
    type End = ();

    fn opened(&self, _adapter: &Arc<dyn Adapter>, attributes: &mut AdapterAttributes) {
        (self.change)(attributes);
    }

    fn admit(&self, _object: Object, call: &Call<'_>) -> Result<()> {
        match call {
            Call::CreateQueuePair { .. } => {
                Faults::check(&self.faults.no_queue_pairs, "queue pair")
            }
            Call::Listen { .. } => Faults::check(&self.faults.no_listeners, "listener"),
            _ => Ok(()),
        }
    }

    fn done(&self, _object: Object, _call: &Call<'_>, _error: Option<&Error>) {}

    fn listening(&self, qualifier: u64) {
        self.faults.while_listening.run(qualifier);
    }

    fn queue(
        &self,
        poller: Box<dyn CompletionPoller>,
        _depth: usize,
    ) -> ((), Box<dyn CompletionPoller>) {
        ((), poller)
    }

    fn pair(&self, _tag: u64, _queues: Queues<()>) {}

    fn end(&self, _pair: &()) {}
}
