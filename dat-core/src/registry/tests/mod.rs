//! Tests of the registry, with a provider that transfers no data.

mod c_provider;
mod compat;
mod listed_adapter;
mod listing;
mod properties;
mod providers;
mod resolve;
mod source;
mod syntax;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dat_sync::Mutex;

use super::{ApiVersion, Configuration, Entry, Registry};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::provider::{
    Adapter, Description, DiscoveredAdapter, OpenRequest, Provider, Reach, unsupported,
};

/// A provider that discovers what a test sets.
struct Fake {
    name: &'static str,
    adapters: Mutex<Vec<DiscoveredAdapter>>,
    reach: Reach,
    /// True if it can tell from a name that it has no such adapter.
    knows: bool,
    /// Number of times it was asked to discover.
    looks: AtomicU32,
}

impl Fake {
    fn new(name: &'static str, adapters: &[&str]) -> Arc<Self> {
        Arc::new(Self::plain(name, adapters))
    }

    fn plain(name: &'static str, adapters: &[&str]) -> Self {
        let adapters = adapters.iter().map(|&name| DiscoveredAdapter {
            name: name.to_owned(),
            summary: format!("{name} is up"),
            unusable: None,
        });
        let adapters = Mutex::new(adapters.collect());
        let (knows, looks) = (false, AtomicU32::new(0));
        Self { name, adapters, reach: Reach::Rdma, knows, looks }
    }

    /// Makes the adapter of that name unusable.
    fn break_adapter(&self, name: &str) {
        for adapter in self.adapters.lock().iter_mut().filter(|adapter| adapter.name == name) {
            let error = Error::new(ReturnType::InsufficientResources, Subtype::NoSubtype);
            adapter.unusable = Some(error.because("the port is down").advise("plug it in"));
        }
    }
}

impl Provider for Fake {
    fn describe(&self) -> Description {
        Description { name: self.name, vendor: "tests", version: (3, 4), reach: self.reach }
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        self.adapters.lock().clone()
    }

    fn claims_name(&self, name: &str) -> bool {
        !self.knows || self.adapters.lock().iter().any(|adapter| adapter.name == name)
    }

    fn open(&self, _request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        Err(unsupported("adapter"))
    }
}

/// A registry with the configuration file `conf` and these providers.
fn registry(text: impl AsRef<[u8]>, providers: &[Arc<Fake>]) -> Registry {
    let registry = Registry::with_configuration(Configuration::from_text("conf", text));
    for provider in providers {
        registry.add_provider(Arc::clone(provider) as Arc<dyn Provider>).expect("a new name");
    }
    registry
}

/// The candidates for a name (origin, adapter and parameters of each), or the error.
fn resolved(registry: &Registry, name: &str, version: ApiVersion) -> Result<Vec<String>> {
    let candidates = registry.resolve(name, version)?;
    Ok(candidates
        .iter()
        .map(|it| format!("{} {} [{}]", it.origin, it.adapter_name, it.parameters))
        .collect())
}

/// An entry in short form: origin, name and status.
fn short(entry: &Entry) -> String {
    let status = match &entry.status {
        super::EntryStatus::Usable => "usable".to_owned(),
        super::EntryStatus::Unusable(reason) => format!("unusable: {}", reason.reason()),
        super::EntryStatus::Shadowed(origin) => format!("shadowed by {origin}"),
    };
    format!("{} {:?} {status}", entry.origin, entry.name)
}

#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
}
