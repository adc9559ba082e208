//! A decorator that counts what goes through it.

mod counters;
mod hooks;

pub use counters::{Count, Counters, Posts, Snapshot};

use std::fmt;
use std::sync::Arc;

use super::adapter;
use crate::error::Result;
use crate::provider::{Adapter, Description, Discovered, OpenRequest, Provider, Relationship};
use hooks::CountHooks;

/// A provider whose adapters are counted, all of them together.
pub struct CountingProvider {
    inner: Arc<dyn Provider>,
    counters: Arc<Counters>,
}

impl CountingProvider {
    /// Wraps a provider.
    #[must_use]
    pub fn new(inner: Arc<dyn Provider>) -> Self {
        Self { inner, counters: Arc::default() }
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }
}

impl Provider for CountingProvider {
    fn describe(&self) -> Description {
        self.inner.describe()
    }

    fn discover(&self) -> Vec<Discovered> {
        self.inner.discover()
    }

    fn may_have(&self, name: &str) -> bool {
        self.inner.may_have(name)
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        adapter::open(&*self.inner, request, CountHooks(Arc::clone(&self.counters)))
    }

    fn related(&self, one: &str, other: &str) -> Relationship {
        self.inner.related(one, other)
    }
}

impl fmt::Debug for CountingProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountingProvider")
            .field("provider", &self.inner.describe().name)
            .field("counters", &self.counters)
            .finish()
    }
}
