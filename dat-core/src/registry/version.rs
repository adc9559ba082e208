//! Versions: requested by a consumer, offered by a line of dat.conf, and of a provider.

use std::fmt;

/// The version of the DAT API that a consumer requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ApiVersion(Option<(u32, u32)>);

impl ApiVersion {
    /// Any version is accepted; Rust consumers use this.
    pub const ANY: Self = Self(None);
    /// DAT 1.2.
    pub const V1_2: Self = Self::new(1, 2);
    /// DAT 2.0.
    pub const V2_0: Self = Self::new(2, 0);

    /// Requests that version, or a larger minor version of the same major version
    /// (dat_registry_list_providers(3DAT)).
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self(Some((major, minor)))
    }

    /// Whether the consumer accepts a line of that version: one with the same major version and the
    /// same or a larger minor version.
    #[must_use]
    pub fn accepts(self, offered: LineVersion) -> bool {
        self.0.is_none_or(|(major, minor)| offered.major == major && offered.minor >= minor)
    }

    /// Whether the line has a larger minor version than requested, so that an exact match is
    /// preferred.
    pub(super) fn is_exceeded_by(self, offered: LineVersion) -> bool {
        self.0.is_some_and(|(major, minor)| offered.major == major && offered.minor > minor)
    }

    /// Whether the line has the requested major version.
    pub(super) fn accepts_major(self, offered: LineVersion) -> bool {
        self.0.is_none_or(|(major, _)| major == offered.major)
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((major, minor)) => write!(f, "u{major}.{minor}"),
            None => f.write_str("any version"),
        }
    }
}

/// The kind of consumer that may use an entry: the letter before the API version of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConsumerSpace {
    /// `u`: user-space consumers.
    User,
    /// `k`: kernel consumers.
    Kernel,
}

/// The API version of a line of dat.conf, such as `u2.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LineVersion {
    /// `u` or `k`.
    pub space: ConsumerSpace,
    /// The major number.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
}

impl LineVersion {
    /// Parses a version; `None` for a syntax error.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (space, numbers) = match text.strip_prefix('u') {
            Some(numbers) => (ConsumerSpace::User, numbers),
            None => (ConsumerSpace::Kernel, text.strip_prefix('k')?),
        };
        let (major, minor) = numbers.split_once('.')?;
        Some(Self { space, major: number(major)?, minor: number(minor)? })
    }
}

impl fmt::Display for LineVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.space {
            ConsumerSpace::User => 'u',
            ConsumerSpace::Kernel => 'k',
        };
        write!(f, "{letter}{}.{}", self.major, self.minor)
    }
}

/// The version of a provider in a line of dat.conf, such as `dapl.2.0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProviderVersion {
    /// The word before the numbers.
    pub id: String,
    /// The major number.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
}

impl ProviderVersion {
    /// Parses a version; `None` for a syntax error.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (rest, minor) = text.rsplit_once('.')?;
        let (id, major) = rest.rsplit_once('.')?;
        let (major, minor) = (number(major)?, number(minor)?);
        (!id.is_empty()).then(|| Self { id: id.to_owned(), major, minor })
    }
}

impl fmt::Display for ProviderVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.id, self.major, self.minor)
    }
}

/// Parses a number that consists only of digits: `parse` alone would accept a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}
