//! The registry: which names can be opened, through which provider, and why others cannot.
//!
//! Names come first from the lines of the configuration files and then from the adapters that
//! providers discover. Every line becomes an [`Entry`] with a [`Fate`], so that a line in error is
//! shown with its position and reason, and hides no other. Only a usable line takes precedence over
//! a discovered adapter of its name.
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

mod announce;
mod calls;
mod entry;
mod failure;
mod find;
mod foreign;
mod line;
mod lookup;
mod refusal;
mod registration;
mod related;
mod scan;
mod source;
mod suggest;
mod syntax;
#[cfg(test)]
mod tests;
mod uses;
mod version;

pub use announce::Announced;
pub use entry::{Entry, Fate, Origin};
pub(crate) use find::merge;
pub use find::{Choice, Refusal};
pub use foreign::{Demand, Library, Registration};
pub use line::{Line, MAX_NAME};
pub use source::{Configuration, Record};
pub use suggest::nearest;
pub use syntax::SyntaxError;
pub use uses::{Candidate, ProviderUse};
pub use version::{ApiVersion, LineVersion, ProviderVersion, Space};

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;

use crate::compat::CompatWord;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::numbering::{Numbering, Sequence};
use crate::provider::Provider;
use calls::{ADD, REMOVE};
use lookup::{Asked, Found, Server, Survey, shadow};
use uses::Registered;

/// The names that can be opened and the providers that serve them.
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
    numbering: Arc<dyn Numbering>,
    providers: RwLock<Vec<Arc<Registered>>>,
    /// Whether the owner can load and open C providers.
    hosting: AtomicBool,
    /// The compatibility mode of adapters whose names and lines give none.
    compat: OnceLock<CompatWord>,
    registrations: RwLock<Vec<Registration>>,
    /// Why libraries of lines could not be used at the last attempt.
    unusable: RwLock<BTreeMap<Origin, Error>>,
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
        Self::numbered_by(configuration, Arc::new(Sequence))
    }

    /// Creates a registry with that configuration, whose objects get their ids from the consumer.
    #[must_use]
    pub fn numbered_by(configuration: Configuration, numbering: Arc<dyn Numbering>) -> Self {
        let shared = Shared {
            configuration,
            numbering,
            providers: RwLock::default(),
            hosting: AtomicBool::new(false),
            compat: OnceLock::new(),
            registrations: RwLock::default(),
            unusable: RwLock::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Declares that the owner of the registry can load and open C providers: their lines are
    /// listed as usable, and [`Registry::find`] returns them. The open calls of this crate still
    /// refuse them.
    #[must_use]
    pub fn hosting(self) -> Self {
        self.shared.hosting.store(true, Ordering::Relaxed);
        self
    }

    /// Sets the [`Compat`](crate::Compat) mode of adapters whose name or line gives none; the text
    /// is the value of [`Compat::VARIABLE`](crate::Compat::VARIABLE). An unknown mode makes each
    /// open fail. Only the first call has an effect.
    #[must_use]
    pub fn with_compat(self, word: impl Into<String>) -> Self {
        let _ = self.shared.compat.set(CompatWord::of_variable(word.into()));
        self
    }

    fn hosts(&self) -> bool {
        self.shared.hosting.load(Ordering::Relaxed)
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
        let mut providers = self.shared.providers.write();
        if let Some(other) = providers.iter().find(|other| other.name() == name) {
            let (major, minor) = other.description.version;
            return Err(error(ReturnType::ProviderAlreadyRegistered, Subtype::NoSubtype)
                .because(format!(
                    "version {major}.{minor} of {} has that name already",
                    other.description.vendor
                ))
                .advise("remove the other provider first"));
        }
        providers.push(Arc::new(Registered::new(provider, description)));
        Ok(())
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
        let mut providers = self.shared.providers.write();
        let Some(index) = providers.iter().position(|provider| provider.name() == name) else {
            let known = failure::listing(providers.iter().map(|it| format!("{:?}", it.name())));
            let known = if known.is_empty() { "there is none".to_owned() } else { known };
            return Err(error(ReturnType::ProviderNotFound, Subtype::NameNotRegistered)
                .because(format!("no provider of that name was added; those added: {known}"))
                .advise(match nearest(name, providers.iter().map(|provider| provider.name())) {
                    Some(name) => format!("did you mean {name:?}?"),
                    None => "`dat list` shows which provider serves which name".to_owned(),
                }));
        };
        let uses = providers[index].uses();
        if uses > 0 {
            return Err(error(ReturnType::ProviderInUse, Subtype::NoSubtype)
                .because(format!("it is in use {uses} times, by open adapters or by opens"))
                .advise("close its adapters first"));
        }
        let removed = providers.remove(index);
        // The provider's own drop may take long, or call the registry.
        drop(providers);
        drop(removed);
        Ok(())
    }

    /// Everything that could be opened, in the order of look-up: registered C providers, the
    /// entries of the configuration, then the adapters that the providers discover now. The fates
    /// are those for a consumer with [`Demand::ANY`]. Nothing is loaded: a C library counts as
    /// usable until an attempt has failed.
    #[must_use]
    pub fn list(&self) -> Vec<Entry> {
        self.list_for(Demand::ANY)
    }

    /// As [`Registry::list`], with the fates for a consumer with that demand.
    #[must_use]
    pub fn list_for(&self, demand: Demand) -> Vec<Entry> {
        let (providers, registrations) = (self.providers(), self.registrations());
        let unusable = self.shared.unusable.read().clone();
        let survey = Survey {
            configuration: &self.shared.configuration,
            providers: &providers,
            registrations: &registrations,
            demand,
            loadable: self.hosts().then_some(&unusable),
        };
        let mut found = survey.named();
        found.extend(survey.discovered());
        shadow(&mut found);
        found.into_iter().map(|found| found.entry).collect()
    }

    /// The Rust providers with which to open a name, to be tried in order; never empty.
    ///
    /// The text after a `?` in the name is not looked up but passed to the provider, after the IA
    /// parameters of the line. Providers discover their adapters only if no line of the name is
    /// usable; those that [cannot have it](Provider::may_have) only if no other provider has the
    /// name.
    ///
    /// # Errors
    /// - `DAT_INVALID_PARAMETER` if the name is empty or longer than [`MAX_NAME`] bytes;
    /// - `DAT_PROVIDER_NOT_FOUND` if no entry of that name is usable: with `DAT_MAJOR_NOT_FOUND` or
    ///   `DAT_MINOR_NOT_FOUND` if it exists only for other versions, otherwise with
    ///   `DAT_NAME_NOT_REGISTERED` and the reasons;
    /// - the provider's error if the only entry of that name is a discovered adapter that cannot be
    ///   opened now.
    pub fn resolve(&self, name: &str, version: ApiVersion) -> Result<Vec<Candidate>> {
        let choices = self.choices(name, Demand { version, ..Demand::ANY }, None)?;
        let own = choices.into_iter().filter_map(|choice| match choice {
            Choice::Provider(candidate) => Some(candidate),
            Choice::Library(_) | Choice::Registered(_) => None,
        });
        Ok(own.collect())
    }

    /// What to try for a name now; never empty. C providers are included only if `loadable` is
    /// given, which holds the libraries known to be unusable.
    fn choices(
        &self,
        name: &str,
        demand: Demand,
        loadable: Option<&BTreeMap<Origin, Error>>,
    ) -> Result<Vec<Choice>> {
        let asked = Asked::new(name);
        if let Some(error) = refusal::bad_name(asked) {
            return Err(error);
        }
        loop {
            let (providers, registrations) = (self.providers(), self.registrations());
            let survey = Survey {
                configuration: &self.shared.configuration,
                providers: &providers,
                registrations: &registrations,
                demand,
                loadable,
            };
            let mut found = survey.named();
            shadow(&mut found);
            let mut picked = Asked::pick(name, &found);
            // First those that may have it; the others only contribute names to an error.
            for may_have in [true, false] {
                if picked.is_none() {
                    found.extend(survey.discovered_for([name, asked.name], may_have));
                    picked = Asked::pick(name, &found);
                }
            }
            let Some((asked, picked)) = picked else {
                return Err(refusal::nothing_usable(asked, demand.version, &found));
            };
            // If a provider was removed in the meantime, another one may have the name.
            if let Some(choices) = self.take(asked, picked.iter().map(|&at| &found[at])) {
                return Ok(choices);
            }
        }
    }

    fn providers(&self) -> Vec<Arc<Registered>> {
        self.shared.providers.read().clone()
    }

    fn registrations(&self) -> Vec<Registration> {
        self.shared.registrations.read().clone()
    }

    /// Takes a use of each provider; `None` if one of them was removed.
    fn take<'a>(
        &self,
        asked: Asked<'_>,
        picked: impl Iterator<Item = &'a Found>,
    ) -> Option<Vec<Choice>> {
        let providers = self.shared.providers.read();
        let take = |Found { entry, server, .. }: &Found| match server.as_ref()? {
            Server::Provider(server) => {
                let registered = providers.iter().find(|it| Arc::ptr_eq(it, server))?;
                let (compat, parameters) = CompatWord::split(&asked.parameters(&entry.parameters));
                let compat = compat.or_else(|| self.shared.compat.get().cloned());
                Some(Choice::Provider(Candidate {
                    provider: Arc::clone(&registered.provider),
                    guard: ProviderUse::take(registered),
                    numbering: Arc::clone(&self.shared.numbering),
                    adapter_name: entry.name.clone(),
                    parameters,
                    compat: compat.unwrap_or_default(),
                    origin: entry.origin.clone(),
                }))
            }
            Server::Library(line) => Some(Choice::Library(Library {
                line: line.clone(),
                origin: entry.origin.clone(),
                suffix: asked.suffix.to_owned(),
            })),
            Server::Registered(registration) => Some(Choice::Registered(registration.clone())),
        };
        picked.map(take).collect()
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}
