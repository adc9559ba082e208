//! From a name to an open adapter: the choices in their order, tried until one opens.

use std::collections::BTreeMap;

use super::Registry;
use super::calls::OPEN;
use super::entry::Origin;
use super::foreign::{Demand, Library, Registration};
use super::uses::Candidate;
use crate::error::{Error, Result, ReturnType, Subtype};

/// A way to open a name.
#[derive(Clone, Debug)]
pub enum Choice {
    /// A Rust provider; [`Candidate::open`] opens it.
    Provider(Candidate),
    /// A line that names a C library, which the caller loads and opens.
    Library(Library),
    /// A C provider that registered itself, which the caller opens.
    Registered(Registration),
}

/// Why a choice did not open.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// Its library cannot be loaded or does not provide the name. The line is treated as absent,
    /// but the listing shows this reason.
    Unusable(Error),
    /// The provider refused the open.
    Refused(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl Registry {
    /// Tries the ways to open a name, in the order of look-up, until one opens. Nothing else is
    /// touched, and nothing is tried twice.
    ///
    /// Entries of equal precedence are tried in the order of the files. Entries of lower precedence
    /// are tried only if no better one is usable: `nondefault` lines, then C libraries that offer
    /// more thread safety than was requested, then entries of a larger minor version, then
    /// discovered adapters. A line whose library is [`Refusal::Unusable`] does not keep others from
    /// being tried. The result for a library is kept for [`Registry::list`] until the next attempt.
    ///
    /// ```
    /// use dat_core::registry::{Choice, Configuration, Demand, Refusal, Registry};
    ///
    /// let text = "old u2.0 nonthreadsafe default libold.so.1 old.1.0 \"\" \"\"";
    /// let registry = Registry::with_configuration(Configuration::from_text("dat.conf", text)).hosting();
    /// let opened: dat_core::Result<()> = registry.find("old", Demand::ANY, |choice| match choice {
    ///     Choice::Library(library) => {
    ///         let reason = format!("{}: cannot open shared object file", library.line.library);
    ///         Err(Refusal::Unusable(library.unusable(reason)))
    ///     }
    ///     Choice::Provider(_) | Choice::Registered(_) => Ok(()),
    /// });
    /// let error = opened.unwrap_err();
    /// assert!(error.reason().ends_with("dat.conf:1: libold.so.1: cannot open shared object file"));
    /// assert!(registry.list()[0].fate.reason().is_some());
    /// ```
    ///
    /// If nothing is usable, as [`Registry::resolve`], with the reason of each entry. If the usable
    /// entries refused, the code of the first refusal and all reasons.
    pub fn find<T>(
        &self,
        name: &str,
        demand: Demand,
        mut attempt: impl FnMut(Choice) -> std::result::Result<T, Refusal>,
    ) -> Result<T> {
        let mut unusable: BTreeMap<Origin, Error> = BTreeMap::new();
        loop {
            let loadable = self.hosts().then_some(&unusable);
            let choices = self.choices(name, demand, loadable)?;
            let (mut refused, mut lost) = (Vec::new(), Vec::new());
            for choice in choices {
                let Choice::Library(library) = choice else {
                    match attempt(choice) {
                        Ok(opened) => return Ok(opened),
                        Err(Refusal::Unusable(error) | Refusal::Refused(error)) => {
                            refused.push(error);
                        }
                    }
                    continue;
                };
                match self.try_library(&library, &mut attempt) {
                    Ok(opened) => return Ok(opened),
                    Err(Refusal::Unusable(error)) => lost.push((library.origin, error)),
                    Err(Refusal::Refused(error)) => refused.push(error),
                }
            }
            if !refused.is_empty() {
                refused.extend(lost.into_iter().map(|(_, error)| error));
                return Err(merge(name, refused));
            }
            unusable.extend(lost);
        }
    }

    /// Tries a library, and records whether it is unusable.
    fn try_library<T>(
        &self,
        library: &Library,
        attempt: impl FnOnce(Choice) -> std::result::Result<T, Refusal>,
    ) -> std::result::Result<T, Refusal> {
        if let Some(error) = library.misnamed() {
            return Err(Refusal::Unusable(error));
        }
        let tried = attempt(Choice::Library(library.clone()));
        let mut unusable = self.shared.unusable.write();
        match &tried {
            Err(Refusal::Unusable(error)) => {
                unusable.insert(library.origin.clone(), error.clone());
            }
            Ok(_) | Err(Refusal::Refused(_)) => {
                unusable.remove(&library.origin);
            }
        }
        drop(unusable);
        tried
    }
}

/// Merges the errors of all that was tried: a single one is returned unchanged.
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
