//! One line of dat.conf: parsing and printing its eight fields, and the versions in it.

use std::fmt;

use super::syntax::{Field, Scanner, SyntaxError, nearest, shown};

/// Maximum length of the name of an interface adapter, in bytes.
pub const MAX_NAME: usize = 255;

/// The names of the fields, in the order of the line.
const FIELDS: [&str; 8] = [
    "an IA name",
    "an API version",
    "the thread safety",
    "\"default\" or \"nondefault\"",
    "a library",
    "a provider version",
    "the IA parameters",
    "the platform parameters",
];

/// A line of dat.conf without syntax errors.
///
/// [`Display`](fmt::Display) prints a line that parses to the same fields. A line break cannot be
/// written in dat.conf, so one in a field becomes a blank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The name to open the adapter by.
    pub name: String,
    /// The API version, and the kind of consumers.
    pub api_version: LineVersion,
    /// True for `threadsafe`; it matters only for C providers.
    pub thread_safe: bool,
    /// True for `default`: such a line takes precedence over `nondefault` lines of the same name.
    pub is_default: bool,
    /// The name of a provider, or the file name of a shared object.
    pub library: String,
    /// The version of the provider.
    pub provider_version: ProviderVersion,
    /// The parameters that the provider receives when it opens the adapter.
    pub parameters: String,
    /// Unused by DAT.
    pub platform_parameters: String,
}

impl Line {
    /// Parses a line without its newline; `None` if it is blank or only a comment.
    ///
    /// # Errors
    /// The first syntax error, from left to right.
    pub fn parse(number: usize, bytes: &[u8]) -> Result<Option<Self>, SyntaxError> {
        let mut reader = Reader { scanner: Scanner::new(bytes), read: 0, name: None };
        reader.line().map_err(|error| error.of_line(number, bytes, reader.name.as_deref()))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word =
            |yes: bool, word: &'static str, other: &'static str| if yes { word } else { other };
        write!(
            f,
            "{} {} {} {} {} {} {} {}",
            Quoted(&self.name),
            self.api_version,
            word(self.thread_safe, "threadsafe", "nonthreadsafe"),
            word(self.is_default, "default", "nondefault"),
            Quoted(&self.library),
            Quoted(&self.provider_version.to_string()),
            Quoted(&self.parameters),
            Quoted(&self.platform_parameters),
        )
    }
}

/// A field as it must be written in a line: in quotes unless it is a plain word.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let no_word = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
        if !self.0.is_empty() && !self.0.starts_with(['"', '#']) && !self.0.contains(no_word) {
            return f.write_str(self.0);
        }
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\n' | '\r' => f.write_str(" ")?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

/// A parser of one line, which remembers its position.
struct Reader<'a> {
    scanner: Scanner<'a>,
    read: usize,
    name: Option<String>,
}

impl<'a> Reader<'a> {
    fn line(&mut self) -> Result<Option<Line>, SyntaxError> {
        let Some(first) = self.scanner.field()? else { return Ok(None) };
        self.read = 1;
        let line = Line {
            name: self.name(&first)?,
            api_version: self.api_version()?,
            thread_safe: self.keyword("threadsafe", "nonthreadsafe")?,
            is_default: self.keyword("default", "nondefault")?,
            library: self.library()?,
            provider_version: self.provider_version()?,
            parameters: self.next()?.text()?.into_owned(),
            platform_parameters: self.next()?.lossy().into_owned(),
        };
        match self.scanner.field()? {
            None => Ok(Some(line)),
            Some(extra) => {
                let expected = "the end of the line after eight fields";
                Err(SyntaxError::at(extra.column, expected, extra.shown())
                    .hinted("enclose a field that contains blanks in double quotes"))
            }
        }
    }

    /// The next field, which must exist.
    fn next(&mut self) -> Result<Field<'a>, SyntaxError> {
        let field = self.scanner.field()?;
        self.read += 1;
        field.ok_or_else(|| {
            let expected = format!("{} (field {} of 8)", FIELDS[self.read - 1], self.read);
            SyntaxError::at(self.scanner.column(), expected, "the end of the line")
                .hinted("a line has eight fields; write \"\" for an empty one")
        })
    }

    fn name(&mut self, field: &Field<'a>) -> Result<String, SyntaxError> {
        let name = field.text()?.into_owned();
        let length = name.len();
        if length == 0 {
            return Err(SyntaxError::at(field.column, "an IA name", "an empty field"));
        }
        if length > MAX_NAME {
            let expected = format!("an IA name of at most {MAX_NAME} bytes");
            return Err(SyntaxError::at(field.column, expected, format!("one of {length} bytes")));
        }
        Ok(self.name.insert(name).clone())
    }

    fn api_version(&mut self) -> Result<LineVersion, SyntaxError> {
        let field = self.next()?;
        let text = field.text()?;
        LineVersion::parse(&text).ok_or_else(|| {
            let expected = "an API version such as \"u1.2\" or \"u2.0\"";
            let error = SyntaxError::at(field.column, expected, field.shown());
            let guess = [format!("u{text}"), text.to_lowercase()];
            match guess.into_iter().find(|guess| LineVersion::parse(guess).is_some()) {
                Some(guess) => error.hinted(format!("did you mean {}?", shown(&guess))),
                None => error,
            }
        })
    }

    /// Reads a field that must be one of two keywords. Returns true for the first.
    fn keyword(&mut self, yes: &str, no: &str) -> Result<bool, SyntaxError> {
        let field = self.next()?;
        let text = field.text()?;
        if text == yes || text == no {
            return Ok(text == yes);
        }
        let expected = format!("\"{yes}\" or \"{no}\"");
        let error = SyntaxError::at(field.column, expected, field.shown());
        Err(match nearest(&text, [yes, no]) {
            Some(word) => error.hinted(format!("did you mean \"{word}\"?")),
            None => error,
        })
    }

    fn library(&mut self) -> Result<String, SyntaxError> {
        let field = self.next()?;
        let library = field.text()?;
        if library.is_empty() {
            let expected = "the name of a provider or the file name of a library";
            return Err(SyntaxError::at(field.column, expected, "an empty field"));
        }
        Ok(library.into_owned())
    }

    fn provider_version(&mut self) -> Result<ProviderVersion, SyntaxError> {
        let field = self.next()?;
        ProviderVersion::parse(&field.text()?).ok_or_else(|| {
            let expected = "a provider version such as \"dapl.2.0\"";
            SyntaxError::at(field.column, expected, field.shown())
        })
    }
}

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

    /// Returns true if the consumer accepts a line of that version: one with the same major version
    /// and the same or a larger minor version.
    #[must_use]
    pub fn accepts(self, offered: LineVersion) -> bool {
        self.0.is_none_or(|(major, minor)| offered.major == major && offered.minor >= minor)
    }

    /// Returns true if the line has a larger minor version than requested, so that an exact match
    /// is preferred.
    pub(super) fn is_exceeded_by(self, offered: LineVersion) -> bool {
        self.0.is_some_and(|(major, minor)| offered.major == major && offered.minor > minor)
    }

    /// Returns true if the line has the requested major version.
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
