//! What the registry lists: everything that could be opened, and why the rest can't.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::foreign::Registration;
use super::line::Line;
use super::syntax::SyntaxError;
use super::version::{LineVersion, ProviderVersion, Space};
use crate::error::Error;
use crate::provider::Reach;

/// Where an entry comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// A line of a configuration file.
    Line {
        /// The file.
        file: Arc<Path>,
        /// The number of the line, from 1.
        line: usize,
    },
    /// A configuration file as a whole, which can't be read; empty where `DAT_OVERRIDE` is.
    File(Arc<Path>),
    /// A provider that found the adapter on this machine.
    Discovered,
    /// A provider of C that registered itself, see [`Registration`].
    Registered,
}

impl fmt::Display for Origin {
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

/// What becomes of an entry when its name is opened under any version.
#[derive(Clone, Debug)]
pub enum Fate {
    /// It is tried.
    Usable,
    /// It can't be opened here, and why.
    Unusable(Error),
    /// It could be opened, but the entry from there goes before it.
    Shadowed(Origin),
}

impl Fate {
    /// Whether the entry is tried.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        matches!(self, Self::Usable)
    }

    /// Why the entry can't be opened, if it can't.
    #[must_use]
    pub fn reason(&self) -> Option<&Error> {
        match self {
            Self::Unusable(reason) => Some(reason),
            _ => None,
        }
    }
}

/// One entry of the listing.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name to open it by; empty where none could be read.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The API version of its line; a discovered adapter serves every version.
    pub api_version: Option<LineVersion>,
    /// Whether it is marked `threadsafe`; discovered adapters are.
    pub thread_safe: bool,
    /// Whether it goes before `nondefault` entries of the same name.
    pub is_default: bool,
    /// The provider that serves it, or the shared object of C that its line names; empty where
    /// a provider of C registered itself.
    pub library: String,
    /// The version of the provider: what the line says, or the provider itself.
    pub provider_version: Option<ProviderVersion>,
    /// The IA parameters of its line.
    pub parameters: String,
    /// The platform parameters of its line.
    pub platform_parameters: String,
    /// How far the provider reaches; none for a provider of C, which does not say, and where no
    /// provider serves the entry.
    pub reach: Option<Reach>,
    /// What the provider says of the adapter: port state, speed, address.
    pub summary: String,
    /// What is wrong with its line, where that does not have the form.
    pub syntax_error: Option<SyntaxError>,
    /// Whether it can be opened, and why not.
    pub fate: Fate,
}

impl Entry {
    /// The line of dat.conf that gives the entry; for a discovered adapter one that would.
    /// None where nothing could be read.
    #[must_use]
    pub fn to_line(&self) -> Option<Line> {
        let serves_all = LineVersion { space: Space::User, major: 2, minor: 0 };
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

    /// An entry of a provider of C that registered itself.
    pub(super) fn of_registration(registration: &Registration, fate: Fate) -> Self {
        Self {
            name: registration.name.clone(),
            api_version: Some(registration.version),
            thread_safe: registration.thread_safe,
            is_default: true,
            fate,
            ..Self::blank(Origin::Registered)
        }
    }

    /// An entry of which nothing but the origin and the reason is known.
    pub(super) fn unusable(origin: Origin, reason: Error) -> Self {
        Self { fate: Fate::Unusable(reason), ..Self::blank(origin) }
    }

    fn blank(origin: Origin) -> Self {
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
            fate: Fate::Usable,
        }
    }

    /// An entry of a line that has the form.
    pub(super) fn of_line(origin: Origin, line: &Line, fate: Fate) -> Self {
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
            fate,
        }
    }
}
