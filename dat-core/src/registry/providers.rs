//! Registered providers, Rust and C: their uses, the candidates for a name, and the names listed for C programs.
//!
//! A registry does not load C providers itself. The owner of a registry that [allows C
//! providers](Registry::allow_c_providers) can load shared objects; the C libraries are such owners.
//! [`Registry::find`] returns the candidates that they load or open, in order, and keeps the results for the listing.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::entry::{Entry, EntryOrigin};
use super::errors::{self, bad_length};
use super::line::{ApiVersion, Line, LineVersion};
use super::{ADD, REMOVE, Registry, State};
use crate::compat::{CompatChoice, KnownProgram};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::id_allocator::IdAllocator;
use crate::lmr::SharedNames;
use crate::monitor::MonitorChoice;
use crate::provider::{AdapterSink, Description, OpenRequest, Provider, Reach};

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

    /// The names of shared memory given by its consumers.
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

/// A provider that can open a name, and the arguments for it.
#[derive(Clone)]
pub struct Candidate {
    /// The provider.
    pub provider: Arc<dyn Provider>,
    /// Must be kept as long as what the provider opened.
    pub guard: ProviderUse,
    /// The name to open: that of the line, or of the discovered adapter.
    pub adapter_name: String,
    /// The IA parameters of the line, followed by those after the `?` in the name, without the compatibility mode.
    pub parameters: String,
    /// The source of the choice of relaxed rules.
    pub(crate) compat: CompatChoice,
    /// The parameters that decide whether readers see the adapter.
    pub(crate) monitor: MonitorChoice,
    /// The origin of the candidate.
    pub origin: EntryOrigin,
    /// Assigns ids to the objects of the registry.
    pub(crate) id_allocator: Arc<dyn IdAllocator>,
}

impl Candidate {
    /// The known program that this process is, if the table of known programs decides which rules of the manual pages
    /// are relaxed.
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

/// The requirements of a consumer besides the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenRequirements {
    /// The version of the API.
    pub version: ApiVersion,
    /// True if several threads will use the adapter; `None` if either is acceptable. Rust providers are thread-safe and
    /// satisfy both. A C provider satisfies the value that it is registered with; if no entry of the name does, a
    /// thread-safe one also serves a consumer that does not require thread safety.
    pub thread_safe: Option<bool>,
}

impl OpenRequirements {
    /// Requirements that every entry satisfies.
    pub const ANY: Self = Self { version: ApiVersion::ANY, thread_safe: None };
}

/// A line of a configuration file that names a C library, which must be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// The line.
    pub line: Line,
    /// The position of the line.
    pub origin: EntryOrigin,
    /// The text after the `?` in the requested name.
    pub(super) suffix: String,
}

impl Library {
    /// The error of a library that cannot be used, with the text of the dynamic loader, for the
    /// listing.
    #[must_use]
    pub fn unusable(&self, reason: impl Into<String>) -> Error {
        errors::listed(&self.origin).because(reason.into())
    }

    /// Returns the error if the name has parameters, which a loaded C library does not accept.
    pub(super) fn misnamed(&self) -> Option<Error> {
        (!self.suffix.is_empty()).then(|| errors::parameters_for_c(&self.origin, &self.line))
    }
}

/// A C provider that registered itself and is not named by a line of a configuration file
/// (dat_registry_add_provider(3DAT), `DAT_PROVIDER_INFO`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Registration {
    /// The name to open it by.
    pub name: String,
    /// The version of the API that it implements.
    pub version: LineVersion,
    /// True if it is thread-safe.
    pub thread_safe: bool,
}

impl fmt::Display for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let safety = safety(self.thread_safe);
        write!(f, "provider {:?} {} {safety}", self.name, self.version)
    }
}

/// The keyword in a line.
pub(super) fn safety(thread_safe: bool) -> &'static str {
    if thread_safe { "threadsafe" } else { "nonthreadsafe" }
}

impl Registry {
    /// Registers a C provider that has no dat.conf line. It takes precedence over all lines of its name.
    ///
    /// # Errors
    /// `DAT_PROVIDER_ALREADY_REGISTERED` if an equal registration exists; `DAT_INVALID_PARAMETER`
    /// for a name that cannot be looked up; `DAT_MODEL_NOT_SUPPORTED` unless the registry is
    /// [`Registry::allow_c_providers`].
    pub fn add_registration(&self, registration: Registration) -> Result<()> {
        let describe = |error: Error| error.during(ADD).on(&registration);
        if !self.allows_c_providers() {
            let error = Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
                .because("only the C libraries open C providers");
            return Err(describe(error));
        }
        if let Some(error) = bad_length(&registration.name) {
            return Err(describe(error.with_subtype(Subtype::InvalidArg2)));
        }
        let add = |state: &mut State| {
            let is_new = !state.registrations.contains(&registration);
            if is_new {
                state.registrations.push(registration.clone());
            }
            is_new
        };
        if !self.shared.with(add) {
            let error = Error::new(ReturnType::ProviderAlreadyRegistered, Subtype::NoSubtype)
                .because("the name is already registered for that version and thread safety")
                .advise("remove the other provider first");
            return Err(describe(error));
        }
        Ok(())
    }

    /// Unregisters a C provider that has no dat.conf line.
    ///
    /// # Errors
    /// `DAT_PROVIDER_NOT_FOUND` if it is not registered.
    pub fn remove_registration(&self, registration: &Registration) -> Result<()> {
        let remove = |state: &mut State| {
            let place = state.registrations.iter().position(|other| other == registration)?;
            Some(state.registrations.remove(place))
        };
        if self.shared.with(remove).is_none() {
            return Err(Error::new(ReturnType::ProviderNotFound, Subtype::NameNotRegistered)
                .during(REMOVE)
                .on(registration)
                .because("no provider is registered with that name, version and thread safety"));
        }
        Ok(())
    }
}

/// An adapter in the list for C programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListedAdapter {
    /// The name to open.
    pub name: String,
    /// True if programs that require thread safety can open it. All other programs can open it too.
    pub thread_safe: bool,
}

impl Registry {
    /// The names that programs of that version receive, in the order in which a program that takes the first one should
    /// try them.
    ///
    /// Each name that can be opened is listed once: C providers registered by the program come first, then the lines of
    /// the configuration in file order, as the administrator chose, and then the discovered adapters, those with a
    /// greater [`Reach`] first. An adapter within the process that no line names is listed only if there is nothing
    /// else: programs would open it and wait for peers in other processes.
    #[must_use]
    pub fn listed_adapters(&self, version: ApiVersion) -> Vec<ListedAdapter> {
        let usable = |thread_safe| {
            let entries = self.list_for(OpenRequirements { version, thread_safe }).into_iter();
            entries.filter(|entry| entry.status.is_usable())
        };
        let thread_safe: HashSet<String> = usable(Some(true)).map(|entry| entry.name).collect();
        let mut names = HashSet::new();
        let mut entries: Vec<Entry> =
            usable(None).filter(|entry| names.insert(entry.name.clone())).collect();
        if !entries.iter().all(is_last_resort) {
            entries.retain(|entry| !is_last_resort(entry));
        }
        entries.sort_by_key(precedence);
        let listed = |Entry { name, .. }| {
            let thread_safe = thread_safe.contains(&name);
            ListedAdapter { name, thread_safe }
        };
        entries.into_iter().map(listed).collect()
    }
}

/// The sort key of entries; entries with the same key keep their order.
fn precedence(entry: &Entry) -> (bool, Reverse<Option<Reach>>) {
    match entry.origin {
        EntryOrigin::Discovered => (true, Reverse(entry.reach)),
        _ => (false, Reverse(None)),
    }
}

fn is_last_resort(entry: &Entry) -> bool {
    entry.reach == Some(Reach::Process) && entry.origin == EntryOrigin::Discovered
}
