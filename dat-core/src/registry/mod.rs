//! The registry: the names that can be opened, their providers, and the reasons why others cannot be opened.
//!
//! Names come first from the lines of the configuration files, and then from the adapters that providers discover.
//! Every line becomes an [`Entry`] with an [`EntryStatus`], so that a faulty line is listed with its position and
//! reason and hides no other. Only a usable line takes precedence over a discovered adapter of its name.
//!
//! Lines may also name C libraries. This crate does not load them; the owner of a registry that can
//! load them uses [`Registry::find`].
//!
//! ```
//! use dat_core::provider::stub::StubProvider;
//! use dat_core::registry::{ApiVersion, Configuration, Registry};
//! use std::sync::Arc;
//!
//! let line = "mine u2.0 threadsafe default stub stub.0.1 \"depth=4\" \"\"";
//! let registry = Registry::with_configuration(Configuration::from_text("dat.conf", line));
//! registry.add_provider(Arc::new(StubProvider))?;
//!
//! let candidates = registry.resolve("mine?trace=1", ApiVersion::ANY)?;
//! assert_eq!(candidates[0].parameters, "depth=4 trace=1");
//!
//! let error = registry.resolve("mone", ApiVersion::ANY).unwrap_err();
//! assert_eq!(error.advice(), "did you mean \"mine\"?");
//! # Ok::<(), dat_core::Error>(())
//! ```

mod catalog;
mod entry;
mod errors;
mod line;
mod providers;
mod resolve;
mod syntax;
#[cfg(all(test, not(loom)))]
mod tests;

pub use entry::{ConfigItem, Configuration, Entry, EntryOrigin, EntryStatus};
pub use line::{ApiVersion, ConsumerSpace, Line, LineVersion, MAX_NAME, ProviderVersion};
pub use providers::{
    Candidate, Library, ListedAdapter, OpenRequirements, ProviderUse, Registration,
};
pub use resolve::{OpenError, Resolved};
pub(crate) use resolve::{merge, take_parameter};
pub use syntax::{SyntaxError, nearest};

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use dat_sync::{Mutex, ProcessLock, Rank};

use crate::compat::{CompatChoice, ProgramSign};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::id_allocator::{IdAllocator, Sequence};
use crate::provider::Provider;
use catalog::{Catalog, shadow};
use providers::Registered;

const ADD: &str = "dat_registry_add_provider";
const REMOVE: &str = "dat_registry_remove_provider";

/// The names that can be opened and the providers that serve them.
///
/// ```
/// use dat_core::Registry;
///
/// let registry = Registry::new(); // or `from_environment`, which reads dat.conf
/// registry.add_provider(dat_provider_loopback::provider())?;
/// let names: Vec<String> = registry.list().into_iter().map(|entry| entry.name).collect();
/// assert_eq!(names, ["loopback"]);
///
/// let ia = registry.open("loopback")?;
/// assert!(registry.remove_provider("loopback").is_err(), "it is in use");
/// drop(ia);
/// registry.remove_provider("loopback")?;
/// # Ok::<(), dat_core::Error>(())
/// ```
///
/// Clones refer to the same registry. Providers may be added and removed at any time, from any
/// thread; no provider is called with a lock held.
#[derive(Clone, Debug)]
pub struct Registry {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    configuration: Configuration,
    id_allocator: Arc<dyn IdAllocator>,
    state: Mutex<State>,
    /// True if the owner can load and open C providers.
    allows_c_providers: AtomicBool,
    /// The compatibility mode of adapters whose names and lines give none.
    compat: OnceLock<CompatChoice>,
    /// Reports whether the process shows a sign of a known program, if the owner can find out.
    signs: OnceLock<fn(&ProgramSign) -> bool>,
}

/// The part of a registry that changes.
#[derive(Debug, Default)]
struct State {
    providers: Vec<Arc<Registered>>,
    registrations: Vec<Registration>,
    /// Errors of the libraries that could not be used at the last attempt, by line.
    unusable: BTreeMap<EntryOrigin, Error>,
}

impl Shared {
    /// Reads or changes the registry. No process is forked meanwhile, because a child uses its parent's registries.
    fn with<R>(&self, call: impl FnOnce(&mut State) -> R) -> R {
        static ALL: ProcessLock<()> = ProcessLock::new(Rank::Registries, ());
        let _all = ALL.lock();
        call(&mut self.state.lock())
    }
}

impl Registry {
    /// Creates a registry that reads no configuration.
    #[must_use]
    pub fn new() -> Self {
        Self::with_configuration(Configuration::default())
    }

    /// Creates a registry that reads the configuration files now; see
    /// [`Configuration::from_environment`]. Files that cannot be read are listed with the reason.
    #[must_use]
    pub fn from_environment() -> Self {
        Self::with_configuration(Configuration::from_environment())
    }

    /// Creates a registry with that configuration.
    #[must_use]
    pub fn with_configuration(configuration: Configuration) -> Self {
        Self::with_id_allocator(configuration, Arc::new(Sequence))
    }

    /// Creates a registry with that configuration, whose objects get their ids from the consumer.
    #[must_use]
    pub fn with_id_allocator(
        configuration: Configuration,
        id_allocator: Arc<dyn IdAllocator>,
    ) -> Self {
        let shared = Shared {
            configuration,
            id_allocator,
            state: Mutex::default(),
            allows_c_providers: AtomicBool::new(false),
            compat: OnceLock::new(),
            signs: OnceLock::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Declares that the owner of the registry can load and open C providers: their lines are
    /// listed as usable, and [`Registry::find`] returns them. The open calls of this crate still
    /// refuse them.
    #[must_use]
    pub fn allow_c_providers(self) -> Self {
        self.shared.allows_c_providers.store(true, Ordering::Relaxed);
        self
    }

    /// Sets the [`Compat`](crate::Compat) mode of adapters whose name or line gives none; the text
    /// is the value of [`Compat::VARIABLE`](crate::Compat::VARIABLE), and an empty one has no effect.
    /// An unknown mode makes each open fail. Only the first call has an effect.
    #[must_use]
    pub fn with_compat(self, word: impl Into<String>) -> Self {
        if let Some(choice) = CompatChoice::of_variable(word.into()) {
            let _ = self.shared.compat.set(choice);
        }
        self
    }

    /// Relaxes the rules that [known programs](crate::compat::known) need relaxed, if neither the name nor the line nor
    /// [`Registry::with_compat`] sets a mode. Every open calls the function, which returns true if this process shows
    /// the sign. Only the first call of this method has an effect.
    #[must_use]
    pub fn with_known_programs(self, is_present: fn(&ProgramSign) -> bool) -> Self {
        let _ = self.shared.signs.set(is_present);
        self
    }

    fn allows_c_providers(&self) -> bool {
        self.shared.allows_c_providers.load(Ordering::Relaxed)
    }

    /// The configuration that the registry was created with.
    #[must_use]
    pub fn configuration(&self) -> &Configuration {
        &self.shared.configuration
    }

    /// Adds a provider under its own name.
    ///
    /// # Errors
    /// `DAT_PROVIDER_ALREADY_REGISTERED` if there is one with that name.
    pub fn add_provider(&self, provider: Arc<dyn Provider>) -> Result<()> {
        let description = provider.describe();
        let name = description.name;
        let error = |return_type, subtype| {
            Error::new(return_type, subtype).during(ADD).on(format!("provider {name:?}"))
        };
        // Dropped without the lock if it is not added.
        let added = Arc::new(Registered::new(provider, description));
        self.shared.with(|state| {
            if let Some(other) = state.providers.iter().find(|other| other.name() == name) {
                let (major, minor) = other.description.version;
                return Err(error(ReturnType::ProviderAlreadyRegistered, Subtype::NoSubtype)
                    .because(format!(
                        "version {major}.{minor} of {} has that name already",
                        other.description.vendor
                    ))
                    .advise("remove the other provider first"));
            }
            state.providers.push(Arc::clone(&added));
            Ok(())
        })
    }

    /// Removes a provider by its own name.
    ///
    /// # Errors
    /// `DAT_PROVIDER_NOT_FOUND` if there is none with that name, `DAT_PROVIDER_IN_USE` while a
    /// [`ProviderUse`] of it is alive.
    pub fn remove_provider(&self, name: &str) -> Result<()> {
        let error = |return_type, subtype| {
            Error::new(return_type, subtype).during(REMOVE).on(format!("provider {name:?}"))
        };
        let remove = |State { providers, .. }: &mut State| {
            let Some(index) = providers.iter().position(|provider| provider.name() == name) else {
                let known = providers.iter().map(|it| format!("{:?}", it.name()));
                let known = errors::listing(known);
                let known = if known.is_empty() { "there is none".to_owned() } else { known };
                return Err(error(ReturnType::ProviderNotFound, Subtype::NameNotRegistered)
                    .because(format!("no provider of that name was added; those added: {known}"))
                    .advise(
                        match nearest(name, providers.iter().map(|provider| provider.name())) {
                            Some(name) => format!("did you mean {name:?}?"),
                            None => "`dat list` shows which provider serves which name".to_owned(),
                        },
                    ));
            };
            let uses = providers[index].uses();
            if uses > 0 {
                return Err(error(ReturnType::ProviderInUse, Subtype::NoSubtype)
                    .because(format!("it is in use {uses} times, by open adapters or by opens"))
                    .advise("close its adapters first"));
            }
            Ok(providers.remove(index))
        };
        // Dropping the provider may take long, or call the registry.
        let removed = self.shared.with(remove)?;
        drop(removed);
        Ok(())
    }

    /// Everything that could be opened, in the order of look-up: registered C providers, the
    /// entries of the configuration, then the adapters that the providers discover now. The statuses
    /// are those for a consumer with [`OpenRequirements::ANY`]. Nothing is loaded: a C library counts as
    /// usable until an attempt has failed.
    #[must_use]
    pub fn list(&self) -> Vec<Entry> {
        self.list_for(OpenRequirements::ANY)
    }

    /// As [`Registry::list`], with the statuses for a consumer with these requirements.
    #[must_use]
    pub fn list_for(&self, requirements: OpenRequirements) -> Vec<Entry> {
        let (providers, registrations) = (self.providers(), self.registrations());
        let unusable = self.unusable();
        let catalog = Catalog {
            configuration: &self.shared.configuration,
            providers: &providers,
            registrations: &registrations,
            requirements,
            loadable: self.allows_c_providers().then_some(&unusable),
        };
        let mut found = catalog.named();
        found.extend(catalog.discovered());
        shadow(&mut found);
        found.into_iter().map(|found| found.entry).collect()
    }

    fn providers(&self) -> Vec<Arc<Registered>> {
        self.shared.with(|state| state.providers.clone())
    }

    fn registrations(&self) -> Vec<Registration> {
        self.shared.with(|state| state.registrations.clone())
    }

    fn unusable(&self) -> BTreeMap<EntryOrigin, Error> {
        self.shared.with(|state| state.unusable.clone())
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}
