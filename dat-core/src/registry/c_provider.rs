//! What a registry knows of providers written in C, which it does not load itself.
//!
//! The owner of a registry that [allows C providers](Registry::allow_c_providers) can load shared
//! objects; the C libraries are such owners. [`Registry::find`] tells them what to load or open, and
//! in which order, and keeps the results for the listing.

use super::entry::EntryOrigin;
use super::line::Line;
use super::line_errors;
use super::version::{ApiVersion, LineVersion};
use crate::error::Error;

/// The requirements of a consumer besides the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenRequirements {
    /// The version of the API.
    pub version: ApiVersion,
    /// Whether several threads will use the adapter; `None` if either is acceptable.
    /// Rust providers are thread-safe and satisfy both. A C provider satisfies the value that it is
    /// registered with; if no entry of the name does, a thread-safe one also serves a consumer that
    /// does not require thread safety.
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
        line_errors::listed(&self.origin).because(reason.into())
    }

    /// Why it cannot be opened by such a name.
    pub(super) fn misnamed(&self) -> Option<Error> {
        (!self.suffix.is_empty()).then(|| line_errors::parameters_for_c(&self.origin, &self.line))
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
    /// Whether it is thread-safe.
    pub thread_safe: bool,
}

impl std::fmt::Display for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let safety = safety(self.thread_safe);
        write!(f, "provider {:?} {} {safety}", self.name, self.version)
    }
}

/// The keyword in a line.
pub(super) fn safety(thread_safe: bool) -> &'static str {
    if thread_safe { "threadsafe" } else { "nonthreadsafe" }
}
