//! Registered providers, their uses, and the candidates for a name.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::entry::EntryOrigin;
use crate::compat::{CompatChoice, KnownProgram};
use crate::id_allocator::IdAllocator;
use crate::lmr::SharedNames;
use crate::provider::{AdapterSink, Description, OpenRequest, Provider};

/// A provider in the registry, and the number of its uses.
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

/// A use of a provider, which prevents its removal.
pub struct ProviderUse(Arc<Registered>);

impl ProviderUse {
    /// Called with the list of providers locked, so that a removal either sees the use or comes
    /// first.
    pub(super) fn take(registered: &Arc<Registered>) -> Self {
        registered.uses.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(registered))
    }

    /// The provider's description of itself.
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

/// A provider with which to open a name, and what to pass to it.
#[derive(Clone)]
pub struct Candidate {
    /// The provider.
    pub provider: Arc<dyn Provider>,
    /// Must be kept as long as what the provider opened.
    pub guard: ProviderUse,
    /// The name to open: that of the line, or of the discovered adapter.
    pub adapter_name: String,
    /// The IA parameters of the line, then those after the `?` in the name, without the
    /// compatibility mode.
    pub parameters: String,
    /// What chose the rules of the manual pages that are relaxed.
    pub(crate) compat: CompatChoice,
    /// The origin of the candidate.
    pub origin: EntryOrigin,
    /// Gives the objects of the registry their ids.
    pub(crate) id_allocator: Arc<dyn IdAllocator>,
}

impl Candidate {
    /// The program that this process is, if the table of known programs decides which rules of the
    /// manual pages are relaxed.
    #[must_use]
    pub fn known_program(&self) -> Option<&'static KnownProgram> {
        match self.compat {
            CompatChoice::Known(program) => Some(program),
            _ => None,
        }
    }

    /// The request to pass to the provider.
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
