//! What a registry knows of providers written in C: who loads them, it does not.
//!
//! The owner of a registry that is [`Registry::hosting`] can load shared objects; the C
//! libraries are such owners. [`Registry::find`] tells them what to load or open, and in
//! which order, and keeps what came of it for the listing.

use super::entry::Origin;
use super::failure;
use super::line::Line;
use super::version::{ApiVersion, LineVersion};
use crate::error::Error;

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
