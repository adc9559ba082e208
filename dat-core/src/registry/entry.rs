//! The configuration files, and the entries that the registry lists: all adapters with their statuses.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::errors;
use super::line::{ConsumerSpace, Line, LineVersion, ProviderVersion};
use super::providers::Registration;
use super::syntax::SyntaxError;
use crate::error::Error;
use crate::provider::Reach;

/// The environment variable that names the only configuration file to read.
pub(super) const OVERRIDE: &str = "DAT_OVERRIDE";
/// Maximum length of a configuration file, in bytes, so that a device or a log named by mistake is not read forever.
const MAX_FILE: u64 = 1 << 20;

/// The contents of the configuration files: each line with its fields or its error, in file order.
///
/// Reading never fails: a file that cannot be read is kept with the reason. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    items: Arc<[ConfigItem]>,
}

/// A line of a configuration file, or a file that cannot be read.
#[derive(Clone, Debug)]
pub enum ConfigItem {
    /// A line, with its fields or its syntax error.
    Line {
        /// The file.
        file: Arc<Path>,
        /// The number of the line, from 1.
        number: usize,
        /// The fields, or the syntax error.
        content: Result<Line, SyntaxError>,
    },
    /// A file that was not read.
    File {
        /// The file; an empty path if `DAT_OVERRIDE` is empty.
        file: Arc<Path>,
        /// The reason.
        reason: Error,
    },
}

impl Configuration {
    /// No configuration: only discovered adapters can be opened.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Reads the file that `DAT_OVERRIDE` names, or otherwise `/etc/dat.conf` and then
    /// `/etc/dat.conf.d/*.conf` in the order of their names.
    #[must_use]
    pub fn from_environment() -> Self {
        Self::from_paths(std::env::var_os(OVERRIDE).as_deref(), Path::new("/etc"))
    }

    /// Reads the file that `overriding` names, or otherwise `dat.conf` and `dat.conf.d/*.conf` in
    /// `etc`.
    ///
    /// If an overriding file cannot be read, no other file is read in its place. The files in `etc`
    /// are optional.
    #[must_use]
    pub fn from_paths(overriding: Option<&OsStr>, etc: &Path) -> Self {
        let mut items = Vec::new();
        match overriding {
            Some(file) if file.is_empty() => {
                items.push(ConfigItem::File {
                    file: Path::new("").into(),
                    reason: errors::empty_override(),
                });
            }
            Some(file) => read_file(Path::new(file), true, &mut items),
            None => {
                read_file(&etc.join("dat.conf"), false, &mut items);
                read_folder(&etc.join("dat.conf.d"), &mut items);
            }
        }
        Self { items: items.into() }
    }

    /// Takes the text of one configuration file; the file itself is not read.
    #[must_use]
    pub fn from_text(file_name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> Self {
        let mut items = Vec::new();
        read_text(&file_name.as_ref().into(), bytes.as_ref(), &mut items);
        Self { items: items.into() }
    }

    /// The lines, and the files that cannot be read, in the order of reading.
    #[must_use]
    pub fn items(&self) -> &[ConfigItem] {
        &self.items
    }
}

/// Parses every line of a text that is not blank.
fn read_text(file: &Arc<Path>, bytes: &[u8], items: &mut Vec<ConfigItem>) {
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let number = index + 1;
        if let Some(content) = Line::parse(number, line).transpose() {
            items.push(ConfigItem::Line { file: Arc::clone(file), number, content });
        }
    }
}

fn read_file(file: &Path, overriding: bool, items: &mut Vec<ConfigItem>) {
    match read_bytes(file) {
        Ok(bytes) => read_text(&file.into(), &bytes, items),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !overriding => {}
        Err(error) => items.push(errors::unreadable(file, overriding, &error)),
    }
}

fn read_bytes(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(io::Error::other(format!("longer than {MAX_FILE} bytes")));
    }
    Ok(bytes)
}

fn read_folder(folder: &Path, items: &mut Vec<ConfigItem>) {
    let names: io::Result<Vec<OsString>> = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.file_name())).collect());
    match names {
        Ok(mut names) => {
            names.retain(|name| is_configuration(name));
            names.sort();
            for name in names {
                read_file(&folder.join(name), false, items);
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => items.push(errors::unreadable(folder, false, &error)),
    }
}

/// Returns true if a shell would match the name with `*.conf`. Hidden files, which editors leave, do not match.
fn is_configuration(name: &OsStr) -> bool {
    let path = PathBuf::from(name);
    path.extension().is_some_and(|end| end == "conf") && !name.as_encoded_bytes().starts_with(b".")
}

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

/// The status of an entry: the effect of opening its name, for any version.
#[derive(Clone, Debug)]
pub enum EntryStatus {
    /// The entry is tried.
    Usable,
    /// The entry cannot be opened here, for this reason.
    Unusable(Error),
    /// The entry could be opened, but one from that origin takes precedence.
    Shadowed(EntryOrigin),
}

impl EntryStatus {
    /// Returns true if the entry is tried.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        matches!(self, Self::Usable)
    }

    /// The reason, if the entry cannot be opened.
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
    /// The origin of the entry.
    pub origin: EntryOrigin,
    /// The API version of its line; a discovered adapter supports every version.
    pub api_version: Option<LineVersion>,
    /// True if it is marked `threadsafe`; discovered adapters are thread-safe.
    pub thread_safe: bool,
    /// True if it takes precedence over `nondefault` entries of the same name.
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
    /// The reach of the provider; `None` if no provider opens the entry, or for a C provider, which does not report it.
    pub reach: Option<Reach>,
    /// The provider's description of the adapter: port state, speed, address.
    pub summary: String,
    /// The syntax error of its line, if any.
    pub syntax_error: Option<SyntaxError>,
    /// The status: usable, or the reason why not.
    pub status: EntryStatus,
}

impl Entry {
    /// The line of dat.conf for the entry; for a discovered adapter, a line that would select it. `None` if nothing
    /// could be read.
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

    /// Creates an entry of which only the origin and the reason are known.
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
