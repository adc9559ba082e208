//! The entries that the registry lists: everything that could be opened, and why the rest cannot.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::c_provider::Registration;
use super::line::Line;
use super::syntax::SyntaxError;
use super::version::{ConsumerSpace, LineVersion, ProviderVersion};
use crate::error::Error;
use crate::provider::Reach;

/// The origin of an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryOrigin {
    /// A line of a configuration file.
    Line {
        /// The file.
        file: Arc<Path>,
        /// The number of the line, from 1.
        line: usize,
    },
    /// A configuration file that cannot be read; an empty path if `DAT_OVERRIDE` is empty.
    File(Arc<Path>),
    /// A provider that discovered the adapter on this machine.
    Discovered,
    /// A C provider that registered itself; see [`Registration`].
    Registered,
}

impl fmt::Display for EntryOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { file, line } => write!(f, "{}:{line}", file.display()),
            Self::File(file) if file.as_os_str().is_empty() => f.write_str("DAT_OVERRIDE"),
            Self::File(file) => write!(f, "{}", file.display()),
            Self::Discovered => f.write_str("discovered"),
            Self::Registered => f.write_str("registered by the program"),
        }
    }
}

/// What happens to an entry when its name is opened, for any version.
#[derive(Clone, Debug)]
pub enum EntryStatus {
    /// It is tried.
    Usable,
    /// It cannot be opened here, for this reason.
    Unusable(Error),
    /// It could be opened, but the entry from that origin takes precedence.
    Shadowed(EntryOrigin),
}

impl EntryStatus {
    /// Whether the entry is tried.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        matches!(self, Self::Usable)
    }

    /// Why the entry cannot be opened, if it cannot.
    #[must_use]
    pub fn reason(&self) -> Option<&Error> {
        match self {
            Self::Unusable(reason) => Some(reason),
            _ => None,
        }
    }
}

/// An entry of the listing.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name to open it by; empty if none could be read.
    pub name: String,
    /// Its origin.
    pub origin: EntryOrigin,
    /// The API version of its line; a discovered adapter supports every version.
    pub api_version: Option<LineVersion>,
    /// Whether it is marked `threadsafe`; discovered adapters are.
    pub thread_safe: bool,
    /// Whether it takes precedence over `nondefault` entries of the same name.
    pub is_default: bool,
    /// The provider that opens it, or the C library that its line names; empty if a C provider
    /// registered itself.
    pub library: String,
    /// The version of the provider, according to the line or to the provider itself.
    pub provider_version: Option<ProviderVersion>,
    /// The IA parameters of its line.
    pub parameters: String,
    /// The platform parameters of its line.
    pub platform_parameters: String,
    /// The reach of the provider; `None` for a C provider, which does not report it, and if no
    /// provider opens the entry.
    pub reach: Option<Reach>,
    /// The provider's description of the adapter: port state, speed, address.
    pub summary: String,
    /// What is wrong with its line, if that has a syntax error.
    pub syntax_error: Option<SyntaxError>,
    /// Whether it can be opened, and why not.
    pub status: EntryStatus,
}

impl Entry {
    /// The line of dat.conf that gives the entry; for a discovered adapter, a line that would.
    /// `None` if nothing could be read.
    #[must_use]
    pub fn to_line(&self) -> Option<Line> {
        let serves_all = LineVersion { space: ConsumerSpace::User, major: 2, minor: 0 };
        Some(Line {
            name: self.name.clone(),
            api_version: self.api_version.unwrap_or(serves_all),
            thread_safe: self.thread_safe,
            is_default: self.is_default,
            library: self.library.clone(),
            provider_version: self.provider_version.clone()?,
            parameters: self.parameters.clone(),
            platform_parameters: self.platform_parameters.clone(),
        })
    }

    /// The entry of a C provider that registered itself.
    pub(super) fn of_registration(registration: &Registration, status: EntryStatus) -> Self {
        Self {
            name: registration.name.clone(),
            api_version: Some(registration.version),
            thread_safe: registration.thread_safe,
            is_default: true,
            status,
            ..Self::blank(EntryOrigin::Registered)
        }
    }

    /// An entry of which only the origin and the reason are known.
    pub(super) fn unusable(origin: EntryOrigin, reason: Error) -> Self {
        Self { status: EntryStatus::Unusable(reason), ..Self::blank(origin) }
    }

    fn blank(origin: EntryOrigin) -> Self {
        Self {
            name: String::new(),
            origin,
            api_version: None,
            thread_safe: false,
            is_default: false,
            library: String::new(),
            provider_version: None,
            parameters: String::new(),
            platform_parameters: String::new(),
            reach: None,
            summary: String::new(),
            syntax_error: None,
            status: EntryStatus::Usable,
        }
    }

    /// The entry of a line without syntax errors.
    pub(super) fn of_line(origin: EntryOrigin, line: &Line, status: EntryStatus) -> Self {
        let line = line.clone();
        Self {
            name: line.name,
            origin,
            api_version: Some(line.api_version),
            thread_safe: line.thread_safe,
            is_default: line.is_default,
            library: line.library,
            provider_version: Some(line.provider_version),
            parameters: line.parameters,
            platform_parameters: line.platform_parameters,
            reach: None,
            summary: String::new(),
            syntax_error: None,
            status,
        }
    }
}
