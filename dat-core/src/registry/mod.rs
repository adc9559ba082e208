//! The registry: which names can be opened, through which provider, and why others can't.
//!
//! Names come from the lines of the configuration files first and then from the adapters that
//! providers discover. Every line becomes an [`Entry`] with a [`Fate`], so that a line in error
//! is shown, with its place and reason, and hides no other. Only a line that can be used goes
//! before a discovered adapter of its name.
//!
//! Lines may also name shared objects of C. This crate loads none; the owner of a registry that
//! can asks [`Registry::find`].
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
use crate::provider::{CONTRACT_VERSION, Provider};
use calls::{ADD, REMOVE};
use lookup::{Asked, Found, Server, Survey, shadow};
use uses::Registered;

/// The names that can be opened and the providers that serve them.
///
/// A clone is the same registry. Providers come and go at any time, from any thread; no
/// provider is called with a lock held.
#[derive(Clone, Debug)]
pub struct Registry {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    configuration: Configuration,
    numbering: Arc<dyn Numbering>,
    providers: RwLock<Vec<Arc<Registered>>>,
    /// Whether the owner can load and open what is written in C.
    hosting: AtomicBool,
    /// The mode of adapters whose names and lines say nothing of it.
    compat: OnceLock<CompatWord>,
    registrations: RwLock<Vec<Registration>>,
    /// Why the libraries of lines could not be used the last time.
    unusable: RwLock<BTreeMap<Origin, Error>>,
}

impl Registry {
    /// A registry that reads no configuration.
    #[must_use]
    pub fn new() -> Self {
        Self::with_configuration(Configuration::default())
    }

    /// A registry that reads the configuration files as they are now, see
    /// [`Configuration::from_environment`]. What can't be read is listed with the reason.
    #[must_use]
    pub fn from_environment() -> Self {
        Self::with_configuration(Configuration::from_environment())
    }

    /// A registry of that configuration.
    #[must_use]
    pub fn with_configuration(configuration: Configuration) -> Self {
        Self::numbered_by(configuration, Arc::new(Sequence))
    }

    /// A registry of that configuration, whose objects get their numbers from the consumer.
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

    /// The registry, whose owner can load and open what is written in C: such lines are listed
    /// as usable, and [`Registry::find`] hands them out. Opening by the calls of this crate
    /// refuses them all the same.
    #[must_use]
    pub fn hosting(self) -> Self {
        self.shared.hosting.store(true, Ordering::Relaxed);
        self
    }

    /// The registry, whose adapters are opened in the [`Compat`](crate::Compat) mode of that word,
    /// the value of [`Compat::VARIABLE`](crate::Compat::VARIABLE), unless their name or line
    /// gives another. A word of no mode is told by each open. The first call counts.
    #[must_use]
    pub fn with_compat(self, word: impl Into<String>) -> Self {
        let _ = self.shared.compat.set(CompatWord::of_variable(word.into()));
        self
    }

    fn hosts(&self) -> bool {
        self.shared.hosting.load(Ordering::Relaxed)
    }

    /// The configuration that the registry was made with.
    #[must_use]
    pub fn configuration(&self) -> &Configuration {
        &self.shared.configuration
    }

    /// Adds a provider, under the name that it gives itself.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` when it was written for another contract than
    /// [`CONTRACT_VERSION`], `DAT_PROVIDER_ALREADY_REGISTERED` when one of its name is there.
    pub fn add_provider(&self, provider: Arc<dyn Provider>) -> Result<()> {
        let description = provider.describe();
        let name = description.name;
        let error = |return_type, subtype| {
            Error::new(return_type, subtype).during(ADD).on(format!("provider {name:?}"))
        };
        if description.contract != CONTRACT_VERSION {
            return Err(error(ReturnType::InvalidParameter, Subtype::InvalidArg1)
                .because(format!(
                    "the provider was written for version {} of the provider contract, and \
                     this library has version {CONTRACT_VERSION}",
                    description.contract
                ))
                .advise("build both against the same version of dat-core"));
        }
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

    /// Removes a provider by the name that it gives itself.
    ///
    /// # Errors
    /// `DAT_PROVIDER_NOT_FOUND` when there is none of that name, `DAT_PROVIDER_IN_USE` while a
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
        // The provider's own drop may take its time, or come back to the registry.
        drop(providers);
        drop(removed);
        Ok(())
    }

    /// Everything that could be opened, in the order of look-up: what registered itself, what
    /// the configuration says, then what the providers discover now. The fates are those of a
    /// consumer that asks for [`Demand::ANY`]. Nothing is loaded for it: a library of C is
    /// usable until an attempt has shown why not.
    #[must_use]
    pub fn list(&self) -> Vec<Entry> {
        self.list_for(Demand::ANY)
    }

    /// As [`Registry::list`], with the fates of a consumer that asks for that much.
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

    /// Which providers of ours to open a name with, to be tried in order; never empty.
    ///
    /// What follows a `?` in the name is not looked up but goes to the provider, after the IA
    /// parameters of the line. Providers are asked what they discover only where no line of the
    /// name can be used, and those that [can't have it](Provider::may_have) only where nothing
    /// has it.
    ///
    /// # Errors
    /// - `DAT_INVALID_PARAMETER` when the name is empty or longer than [`MAX_NAME`] bytes;
    /// - `DAT_PROVIDER_NOT_FOUND` when nothing of that name can be used: with
    ///   `DAT_MAJOR_NOT_FOUND` or `DAT_MINOR_NOT_FOUND` where it is there for other versions
    ///   only, else with `DAT_NAME_NOT_REGISTERED` and what is known of it;
    /// - the reason of the provider when all that has the name is an adapter that the provider
    ///   discovered and that can't be opened now.
    pub fn resolve(&self, name: &str, version: ApiVersion) -> Result<Vec<Candidate>> {
        let choices = self.choices(name, Demand { version, ..Demand::ANY }, None)?;
        let own = choices.into_iter().filter_map(|choice| match choice {
            Choice::Provider(candidate) => Some(candidate),
            Choice::Library(_) | Choice::Registered(_) => None,
        });
        Ok(own.collect())
    }

    /// What to try for a name now; never empty. What is written in C is part of it only with
    /// what is known against its libraries.
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
            // Those that may have it first; the others are asked for what an error tells.
            for may_have in [true, false] {
                if picked.is_none() {
                    found.extend(survey.discovered_for([name, asked.name], may_have));
                    picked = Asked::pick(name, &found);
                }
            }
            let Some((asked, picked)) = picked else {
                return Err(refusal::nothing_usable(asked, demand.version, &found));
            };
            // A provider that went away meanwhile may leave the name to another.
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

    /// Takes a use of each provider; none where one of them was removed.
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
