//! From a name to what opens it: the choices in their order, tried until one opens.

use std::collections::BTreeMap;

use super::Registry;
use super::calls::OPEN;
use super::entry::Origin;
use super::foreign::{Demand, Library, Registration};
use super::uses::Candidate;
use crate::error::{Error, Result, ReturnType, Subtype};

/// Something to open a name with.
#[derive(Clone, Debug)]
pub enum Choice {
    /// A provider of ours; [`Candidate::open`] opens it.
    Provider(Candidate),
    /// A line that names a shared object of C, which the caller loads and opens.
    Library(Library),
    /// A provider of C that registered itself, which the caller opens.
    Registered(Registration),
}

/// Why a choice did not open.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// Its library can't be loaded or is no provider of the name: as if the line were not
    /// there, but for the listing, which shows why.
    Unusable(Error),
    /// It was asked, and refused.
    Refused(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl Registry {
    /// Tries what a name can be opened with, in the order of look-up, until one opens; nothing
    /// else is touched, and nothing is tried twice.
    ///
    /// Entries of the same standing are tried in the order of the files. Lesser ones
    /// (`nondefault` lines, then libraries of C that promise more safety for threads than was
    /// asked for, then entries of a larger minor version, then what is discovered) only where no
    /// better one is usable: a line whose library is [`Refusal::Unusable`] holds nothing back. What became of a library is kept
    /// for [`Registry::list`] until the next attempt.
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
    /// # Errors
    /// When nothing can be used, as [`Registry::resolve`], with the reason of each entry. When
    /// what could be used refused, the code of the first that did and the reason of each.
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

    /// Tries a library, and keeps what is now known against it.
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

/// One error out of those of all that was tried: a single one as it is, several in one text.
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
