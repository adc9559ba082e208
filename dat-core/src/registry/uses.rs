//! Registered providers, who uses them, and what a look-up hands out.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::entry::Origin;
use crate::compat::CompatWord;
use crate::lmr::SharedNames;
use crate::numbering::Numbering;
use crate::provider::{AdapterSink, Description, OpenRequest, Provider};

/// A provider in the registry, with how many use it.
pub(super) struct Registered {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) description: Description,
    uses: AtomicUsize,
    shared_names: Arc<SharedNames>,
}

impl Registered {
    pub(super) fn new(provider: Arc<dyn Provider>, description: Description) -> Self {
        Self { provider, description, uses: AtomicUsize::new(0), shared_names: Arc::default() }
    }

    pub(super) fn name(&self) -> &'static str {
        self.description.name
    }

    pub(super) fn uses(&self) -> usize {
        self.uses.load(Ordering::Acquire)
    }
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered")
            .field("description", &self.description)
            .field("uses", &self.uses())
            .finish_non_exhaustive()
    }
}

/// The right to use a provider: while one is alive the provider can't be removed.
pub struct ProviderUse(Arc<Registered>);

impl ProviderUse {
    /// To be called with the list of providers locked, so that a removal sees it or comes first.
    pub(super) fn take(registered: &Arc<Registered>) -> Self {
        registered.uses.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(registered))
    }

    /// What the provider says of itself.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.0.description
    }

    /// The names that its consumers gave to shared memory.
    pub(crate) fn shared_names(&self) -> &Arc<SharedNames> {
        &self.0.shared_names
    }
}

impl Clone for ProviderUse {
    fn clone(&self) -> Self {
        Self::take(&self.0)
    }
}

impl Drop for ProviderUse {
    fn drop(&mut self) {
        self.0.uses.fetch_sub(1, Ordering::AcqRel);
    }
}

impl fmt::Debug for ProviderUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProviderUse").field(&self.0.name()).finish()
    }
}

/// A provider to open a name with, and what to pass to it.
#[derive(Clone)]
pub struct Candidate {
    /// Whom to ask.
    pub provider: Arc<dyn Provider>,
    /// To be kept as long as what the provider opened.
    pub guard: ProviderUse,
    /// The name to open: of the line, or of the adapter that the provider discovered.
    pub adapter_name: String,
    /// The IA parameters of the line, then those that followed `?` in the name, without the mode
    /// of compatibility.
    pub parameters: String,
    /// Which rules of the manual pages are relaxed.
    pub(crate) compat: CompatWord,
    /// Where the candidate comes from.
    pub origin: Origin,
    /// What numbers the objects of the registry.
    pub(crate) numbering: Arc<dyn Numbering>,
}

impl Candidate {
    /// What to pass to the provider.
    #[must_use]
    pub fn request(&self, sink: Arc<dyn AdapterSink>) -> OpenRequest<'_> {
        OpenRequest { name: &self.adapter_name, parameters: &self.parameters, sink }
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidate")
            .field("guard", &self.guard)
            .field("adapter_name", &self.adapter_name)
            .field("parameters", &self.parameters)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
