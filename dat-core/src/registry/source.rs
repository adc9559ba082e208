//! The configuration files and their contents.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::line::Line;
use super::line_errors::listed;
use super::syntax::SyntaxError;
use crate::error::Error;

/// The environment variable that names the only configuration file to read.
const OVERRIDE: &str = "DAT_OVERRIDE";
/// Maximum length of a configuration file, in bytes: a device or a log named by mistake must not be
/// read forever.
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
                    reason: empty_override(),
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
        Err(error) => items.push(unreadable(file, overriding, &error)),
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
        Err(error) => items.push(unreadable(folder, false, &error)),
    }
}

/// Whether a shell would match the name with `*.conf`: hidden files, which editors leave, do not
/// match.
fn is_configuration(name: &OsStr) -> bool {
    let path = PathBuf::from(name);
    path.extension().is_some_and(|end| end == "conf") && !name.as_encoded_bytes().starts_with(b".")
}

fn empty_override() -> Error {
    listed(OVERRIDE)
        .because("the variable is empty, so no configuration file is read")
        .advise("unset it to read /etc/dat.conf, or set it to a file")
}

fn unreadable(file: &Path, overriding: bool, error: &io::Error) -> ConfigItem {
    let file: Arc<Path> = file.into();
    let (what, advice) = if overriding {
        ("cannot read the file that DAT_OVERRIDE names", "correct or unset DAT_OVERRIDE")
    } else {
        ("cannot read the configuration file", "make it readable, or remove it")
    };
    let reason = listed(file.display()).advise(advice);
    let reason = match error.raw_os_error() {
        Some(errno) => reason.because(what).errno(errno),
        None => reason.because(format!("{what}: {error}")),
    };
    ConfigItem::File { file, reason }
}
