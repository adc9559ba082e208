//! Name resolution: finds the providers for a name, tries them in order until one opens, and compares the adapters of
//! two names.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Registry;
use super::catalog::{Catalog, Match, Opener, RequestedName, shadow};
use super::entry::EntryOrigin;
use super::errors::{self, OPEN};
use super::line::ApiVersion;
use super::providers::{Candidate, Library, OpenRequirements, ProviderUse, Registration};
use crate::compat::{CompatChoice, known};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::monitor::MonitorChoice;
use crate::provider::Relationship;

/// The result of resolving a name: one way to open it.
#[derive(Clone, Debug)]
pub enum Resolved {
    /// A Rust provider; [`Candidate::open`] opens it.
    Provider(Candidate),
    /// A line that names a C library, which the caller loads and opens.
    Library(Library),
    /// A C provider that registered itself, which the caller opens.
    Registered(Registration),
}

/// The reason why a resolved name did not open.
#[derive(Clone, Debug)]
pub enum OpenError {
    /// Its library cannot be loaded or does not provide the name. The line is treated as absent,
    /// but the listing shows this reason.
    Unusable(Error),
    /// The provider refused the open.
    Refused(Error),
}

impl From<Error> for OpenError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl Registry {
    /// Returns the Rust providers that can open a name, to be tried in order; never empty.
    ///
    /// The text after a `?` in the name is not looked up but passed to the provider, after the IA parameters of the
    /// line. Providers discover their adapters only if no line of the name is usable, and those that [do not claim
    /// it](crate::provider::Provider::claims_name) only if no other provider has the name.
    ///
    /// # Errors
    /// - `DAT_INVALID_PARAMETER` if the name is empty or longer than [`MAX_NAME`](super::MAX_NAME) bytes;
    /// - `DAT_PROVIDER_NOT_FOUND` if no entry of that name is usable: with `DAT_MAJOR_NOT_FOUND` or
    ///   `DAT_MINOR_NOT_FOUND` if it exists only for other versions, otherwise with
    ///   `DAT_NAME_NOT_REGISTERED` and the reasons;
    /// - the provider's error if the only entry of that name is a discovered adapter that cannot be
    ///   opened now.
    pub fn resolve(&self, name: &str, version: ApiVersion) -> Result<Vec<Candidate>> {
        let all =
            self.look_up(name, OpenRequirements { version, ..OpenRequirements::ANY }, None)?;
        let own = all.into_iter().filter_map(|resolved| match resolved {
            Resolved::Provider(candidate) => Some(candidate),
            Resolved::Library(_) | Resolved::Registered(_) => None,
        });
        Ok(own.collect())
    }

    /// Returns the ways to open a name now; never empty. C providers are included only if `loadable`, the set of
    /// libraries known to be unusable, is given.
    pub(super) fn look_up(
        &self,
        name: &str,
        requirements: OpenRequirements,
        loadable: Option<&BTreeMap<EntryOrigin, Error>>,
    ) -> Result<Vec<Resolved>> {
        let asked = RequestedName::new(name);
        if let Some(error) = errors::bad_name(asked) {
            return Err(error);
        }
        loop {
            let (providers, registrations) = (self.providers(), self.registrations());
            let catalog = Catalog {
                configuration: &self.shared.configuration,
                providers: &providers,
                registrations: &registrations,
                requirements,
                loadable,
            };
            let mut found = catalog.named();
            shadow(&mut found);
            let mut picked = RequestedName::pick(name, &found);
            // First those that claim it; the others only contribute names to an error.
            for claims_name in [true, false] {
                if picked.is_none() {
                    found.extend(catalog.discovered_for([name, asked.name], claims_name));
                    picked = RequestedName::pick(name, &found);
                }
            }
            let Some((asked, picked)) = picked else {
                return Err(errors::nothing_usable(asked, requirements.version, &found));
            };
            // If a provider was removed in the meantime, another one may have the name.
            if let Some(all) = self.take(asked, picked.iter().map(|&at| &found[at])) {
                return Ok(all);
            }
        }
    }

    /// Tries the ways to open a name, in the order of look-up, until one opens. Each is tried at most once.
    ///
    /// Entries of equal precedence are tried in the order of the files. Entries of lower precedence
    /// are tried only if no better one is usable: `nondefault` lines, then C libraries that offer
    /// more thread safety than was requested, then entries of a larger minor version, then
    /// discovered adapters. A line whose library is [`OpenError::Unusable`] does not keep others from
    /// being tried. The result for a library is kept for [`Registry::list`] until the next attempt.
    ///
    /// ```
    /// use dat_core::registry::{Configuration, OpenError, OpenRequirements, Registry, Resolved};
    ///
    /// let text = "old u2.0 nonthreadsafe default libold.so.1 old.1.0 \"\" \"\"";
    /// let registry = Registry::with_configuration(Configuration::from_text("dat.conf", text)).allow_c_providers();
    /// let opened: dat_core::Result<()> = registry.find("old", OpenRequirements::ANY, |resolved| match resolved {
    ///     Resolved::Library(library) => {
    ///         let reason = format!("{}: cannot open shared object file", library.line.library);
    ///         Err(OpenError::Unusable(library.unusable(reason)))
    ///     }
    ///     Resolved::Provider(_) | Resolved::Registered(_) => Ok(()),
    /// });
    /// let error = opened.unwrap_err();
    /// assert!(error.reason().ends_with("dat.conf:1: libold.so.1: cannot open shared object file"));
    /// assert!(registry.list()[0].status.reason().is_some());
    /// ```
    ///
    /// If nothing is usable, as [`Registry::resolve`], with the reason of each entry. If the usable entries refused,
    /// the code of the first refusal and all reasons.
    pub fn find<T>(
        &self,
        name: &str,
        requirements: OpenRequirements,
        mut attempt: impl FnMut(Resolved) -> std::result::Result<T, OpenError>,
    ) -> Result<T> {
        let mut unusable: BTreeMap<EntryOrigin, Error> = BTreeMap::new();
        loop {
            let loadable = self.allows_c_providers().then_some(&unusable);
            let all = self.look_up(name, requirements, loadable)?;
            let (mut refused, mut lost) = (Vec::new(), Vec::new());
            for resolved in all {
                let Resolved::Library(library) = resolved else {
                    match attempt(resolved) {
                        Ok(opened) => return Ok(opened),
                        Err(OpenError::Unusable(error) | OpenError::Refused(error)) => {
                            refused.push(error);
                        }
                    }
                    continue;
                };
                match self.try_library(&library, &mut attempt) {
                    Ok(opened) => return Ok(opened),
                    Err(OpenError::Unusable(error)) => lost.push((library.origin, error)),
                    Err(OpenError::Refused(error)) => refused.push(error),
                }
            }
            if !refused.is_empty() {
                refused.extend(lost.into_iter().map(|(_, error)| error));
                return Err(merge(name, refused));
            }
            unusable.extend(lost);
        }
    }

    /// Takes a use of each provider; `None` if one of them was removed.
    fn take<'a>(
        &self,
        asked: RequestedName<'_>,
        picked: impl Iterator<Item = &'a Match>,
    ) -> Option<Vec<Resolved>> {
        let take = |Match { entry, server, .. }: &Match| match server.as_ref()? {
            Opener::Provider(server) => {
                // A use prevents the removal of a provider that is still there.
                let guard = self.shared.with(|state| {
                    let is_there = state.providers.iter().any(|it| Arc::ptr_eq(it, server));
                    is_there.then(|| ProviderUse::take(server))
                })?;
                let (compat, parameters) =
                    CompatChoice::split(&asked.parameters(&entry.parameters));
                let (monitor, parameters) = MonitorChoice::split(&parameters);
                let compat = compat.or_else(|| self.shared.compat.get().cloned());
                let compat = compat.or_else(|| self.known_program());
                Some(Resolved::Provider(Candidate {
                    provider: Arc::clone(&server.provider),
                    guard,
                    id_allocator: Arc::clone(&self.shared.id_allocator),
                    adapter_name: entry.name.clone(),
                    parameters,
                    compat: compat.unwrap_or_default(),
                    monitor,
                    origin: entry.origin.clone(),
                }))
            }
            Opener::Library(line) => Some(Resolved::Library(Library {
                line: line.clone(),
                origin: entry.origin.clone(),
                suffix: asked.suffix.to_owned(),
            })),
            Opener::Registered(registration) => Some(Resolved::Registered(registration.clone())),
        };
        picked.map(take).collect()
    }

    /// Looks up the mode in the table of known programs. This is done at each open, because libraries may be loaded
    /// later.
    fn known_program(&self) -> Option<CompatChoice> {
        let is_present = self.shared.signs.get()?;
        known::recognise(is_present).map(CompatChoice::Known)
    }

    /// Tries a library, and records whether it is unusable.
    fn try_library<T>(
        &self,
        library: &Library,
        attempt: impl FnOnce(Resolved) -> std::result::Result<T, OpenError>,
    ) -> std::result::Result<T, OpenError> {
        if let Some(error) = library.misnamed() {
            return Err(OpenError::Unusable(error));
        }
        let tried = attempt(Resolved::Library(library.clone()));
        self.shared.with(|state| match &tried {
            Err(OpenError::Unusable(error)) => {
                state.unusable.insert(library.origin.clone(), error.clone());
            }
            Ok(_) | Err(OpenError::Refused(_)) => {
                state.unusable.remove(&library.origin);
            }
        });
        tried
    }
}

/// Extracts the value of a key of the core from IA parameters; the rest goes to the provider. The last occurrence wins.
pub(crate) fn take_parameter(parameters: &str, key: &str) -> (Option<String>, String) {
    let is_separator = |c: char| c == ',' || c.is_ascii_whitespace();
    let of = |token: &str| {
        let (found, value) = token.split_once('=')?;
        (found == key).then(|| value.to_owned())
    };
    let Some(value) = parameters.split(is_separator).rev().find_map(of) else {
        return (None, parameters.to_owned());
    };
    let tokens = parameters.split_inclusive(is_separator);
    let kept = tokens.filter(|token| of(token.trim_end_matches(is_separator)).is_none());
    let kept = kept.collect::<String>().trim_matches(is_separator).to_owned();
    (Some(value), kept)
}

/// Merges the errors of all attempts. A single error is returned unchanged.
pub(crate) fn merge(name: &str, mut failures: Vec<Error>) -> Error {
    if failures.len() == 1 {
        return failures.remove(0);
    }
    let texts: Vec<String> = failures.iter().map(ToString::to_string).collect();
    let (return_type, subtype) = failures
        .first()
        .map_or((ReturnType::ProviderNotFound, Subtype::NameNotRegistered), |error| {
            (error.return_type(), error.subtype())
        });
    Error::new(return_type, subtype).during(OPEN).on(format!("IA {name:?}")).because(format!(
        "none of {} entries could be opened: {}",
        texts.len(),
        texts.join(" | ")
    ))
}

impl Registry {
    /// Returns whether two adapters can take over from one another (dat_registry_providers_related of DAT 2.0). An
    /// adapter is related to itself. For adapters of two providers, both are asked. C providers cannot be asked, so
    /// their adapters are otherwise unknown.
    ///
    /// # Errors
    /// `DAT_PROVIDER_NOT_FOUND` for an unknown name.
    pub fn providers_related(&self, one: &str, other: &str) -> Result<Relationship> {
        let describe = |error: Error| error.during("dat_registry_providers_related");
        let first = self.first_resolved(one).map_err(describe)?;
        let second = self.first_resolved(other).map_err(describe)?;
        let (Resolved::Provider(first), Resolved::Provider(second)) = (&first, &second) else {
            return Ok(if one == other { Relationship::Related } else { Relationship::Unknown });
        };
        Ok(compare(first, second))
    }

    /// The first way to open a name, under any version.
    fn first_resolved(&self, name: &str) -> Result<Resolved> {
        let unusable = self.unusable();
        let loadable = self.allows_c_providers().then_some(&unusable);
        let mut all = self.look_up(name, OpenRequirements::ANY, loadable)?;
        Ok(all.swap_remove(0))
    }
}

/// Combines the answers of the providers of two adapters.
fn compare(first: &Candidate, second: &Candidate) -> Relationship {
    let same_provider = Arc::ptr_eq(&first.provider, &second.provider);
    if same_provider && first.adapter_name == second.adapter_name {
        return Relationship::Related;
    }
    let forth = first.provider.related(&first.adapter_name, &second.adapter_name);
    if same_provider {
        return forth;
    }
    let back = second.provider.related(&second.adapter_name, &first.adapter_name);
    match (forth, back) {
        (Relationship::Unknown, known) | (known, Relationship::Unknown) => known,
        (forth, back) if forth == back => forth,
        _ => Relationship::Conflicting,
    }
}
