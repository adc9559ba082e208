//! What a registry knows of providers written in C: who loads them, it does not.
//!
//! The owner of a registry that is [`Registry::hosting`] can load shared objects; the C
//! libraries are such owners. [`Registry::find`] tells them what to load or open, and in
//! which order, and keeps what came of it for the listing.

use super::entry::Origin;
use super::line::Line;
use super::version::{ApiVersion, LineVersion};
use super::{ADD, REMOVE, Registry, failure};
use crate::error::{Error, Result, ReturnType, Subtype};

/// What a consumer asks of an entry besides its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The version of the API.
    pub version: ApiVersion,
    /// Whether several threads will use what is opened; without it nobody minds.
    ///
    /// Providers of ours are safe for threads and serve both. One of C serves who asks for what
    /// it is registered as; where nothing of the name does, one that is safe for threads also
    /// serves who asks for less.
    pub thread_safe: Option<bool>,
}

impl Demand {
    /// A demand that everything meets.
    pub const ANY: Self = Self { version: ApiVersion::ANY, thread_safe: None };
}

/// A line of a configuration file that names a shared object of C, to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// The line.
    pub line: Line,
    /// Where it stands.
    pub origin: Origin,
    /// What followed the `?` in the name that was asked for.
    pub(super) suffix: String,
}

impl Library {
    /// The error of a library that can't be used: with the loader's own words, so that a
    /// listing shows them.
    #[must_use]
    pub fn unusable(&self, reason: impl Into<String>) -> Error {
        failure::listed(&self.origin).because(reason.into())
    }

    /// Why it can't be asked for by such a name.
    pub(super) fn misnamed(&self) -> Option<Error> {
        (!self.suffix.is_empty()).then(|| failure::parameters_for_c(&self.origin, &self.line))
    }
}

/// A provider of C that registered itself, with no line of a configuration file
/// (dat_registry_add_provider(3DAT), `DAT_PROVIDER_INFO`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Registration {
    /// The name to open it by.
    pub name: String,
    /// The version of the API that it serves.
    pub version: LineVersion,
    /// Whether it is safe for threads.
    pub thread_safe: bool,
}

impl std::fmt::Display for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let safety = safety(self.thread_safe);
        write!(f, "provider {:?} {} {safety}", self.name, self.version)
    }
}

/// The word of a line.
pub(super) fn safety(thread_safe: bool) -> &'static str {
    if thread_safe { "threadsafe" } else { "nonthreadsafe" }
}

impl Registry {
    /// Adds a provider of C that no line names. It goes before all lines of its name.
    ///
    /// # Errors
    /// `DAT_PROVIDER_ALREADY_REGISTERED` when the same is there; `DAT_INVALID_PARAMETER` for a
    /// name that can't be looked up; `DAT_MODEL_NOT_SUPPORTED` unless the registry is
    /// [`Registry::hosting`].
    pub fn add_registration(&self, registration: Registration) -> Result<()> {
        let describe = |error: Error| error.during(ADD).on(&registration);
        if !self.hosts() {
            let error = Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
                .because("only the C libraries open providers of C");
            return Err(describe(error));
        }
        if let Some(error) = super::refusal::bad_length(&registration.name) {
            return Err(describe(error.with_subtype(Subtype::InvalidArg2)));
        }
        let mut registrations = self.shared.registrations.write();
        if registrations.contains(&registration) {
            let error = Error::new(ReturnType::ProviderAlreadyRegistered, Subtype::NoSubtype)
                .because("the name is registered for that version and thread safety")
                .advise("remove the other provider first");
            return Err(describe(error));
        }
        registrations.push(registration);
        Ok(())
    }

    /// Removes a provider of C that no line names.
    ///
    /// # Errors
    /// `DAT_PROVIDER_NOT_FOUND` when it is not there.
    pub fn remove_registration(&self, registration: &Registration) -> Result<()> {
        let mut registrations = self.shared.registrations.write();
        let Some(place) = registrations.iter().position(|other| other == registration) else {
            return Err(Error::new(ReturnType::ProviderNotFound, Subtype::NameNotRegistered)
                .during(REMOVE)
                .on(registration)
                .because("no provider registered itself as that"));
        };
        registrations.remove(place);
        Ok(())
    }
}
