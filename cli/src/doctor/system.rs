//! The system to check: this machine, or a copy of one in a directory.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// The maximum length of a text file.
const MAX_TEXT: u64 = 1 << 20;
/// The number of symbolic links that the kernel follows in one path.
const MAX_LINKS: usize = 40;

/// A limit of a resource; `None` means unlimited.
pub(super) type Limit = Option<u64>;

/// Files by their paths in the system. Symbolic links are resolved inside it, so that links
/// of a copy stay in the copy.
#[derive(Debug)]
pub(super) struct System {
    root: PathBuf,
    copy: bool,
}

impl System {
    /// This machine.
    pub(super) fn here() -> Self {
        Self { root: PathBuf::from("/"), copy: false }
    }

    /// The copy of a system in a directory.
    pub(super) fn below(root: &Path) -> Self {
        Self { root: root.to_owned(), copy: true }
    }

    /// Returns true if it is a copy, of which nothing can be opened.
    pub(super) fn is_copy(&self) -> bool {
        self.copy
    }

    /// The directory of the copy.
    pub(super) fn root(&self) -> Option<&Path> {
        self.copy.then_some(self.root.as_path())
    }

    /// The path of a system's file for this program.
    pub(super) fn place(&self, path: impl AsRef<Path>) -> PathBuf {
        self.host(&self.resolve(path.as_ref()))
    }

    /// A path with its links resolved. In a copy all paths start at its root.
    pub(super) fn resolve(&self, path: &Path) -> PathBuf {
        let mut pending = parts(path);
        if path.is_relative() && !self.copy {
            // If the directory is unknown, no file can be found in it either.
            pending.extend(parts(&std::env::current_dir().unwrap_or_default()));
        }
        let mut done = PathBuf::from("/");
        let mut links = 0;
        while let Some(part) = pending.pop() {
            if part == ".." {
                done.pop();
                continue;
            }
            let next = done.join(part);
            match fs::read_link(self.host(&next)) {
                Ok(target) if links < MAX_LINKS => {
                    links += 1;
                    if target.is_absolute() {
                        done = PathBuf::from("/");
                    }
                    pending.extend(parts(&target));
                }
                _ => done = next,
            }
        }
        done
    }

    /// The metadata of a path, with its links resolved.
    pub(super) fn metadata(&self, path: impl AsRef<Path>) -> io::Result<Metadata> {
        fs::symlink_metadata(self.place(path))
    }

    /// Returns true if the path exists.
    pub(super) fn has(&self, path: impl AsRef<Path>) -> bool {
        self.metadata(path).is_ok()
    }

    /// The bytes of a regular file up to a length. Nothing else is opened, because a pipe
    /// would block.
    pub(super) fn bytes(&self, path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
        let place = self.place(path);
        if !fs::symlink_metadata(&place)?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let mut bytes = Vec::new();
        File::open(place)?.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(io::Error::other(format!("longer than {most} bytes")));
        }
        Ok(bytes)
    }

    /// The trimmed text of a file, if it can be read.
    pub(super) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = self.bytes(path, MAX_TEXT).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The soft and the hard limit of this process that /proc/self/limits has under that name.
    pub(super) fn limits(&self, name: &str) -> Option<(Limit, Limit)> {
        let text = self.text("/proc/self/limits")?;
        let mut fields = text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace();
        let mut limit = || match fields.next()? {
            "unlimited" => Some(None),
            number => number.parse().ok().map(Some),
        };
        Some((limit()?, limit()?))
    }

    /// The names in a directory in natural order; none if it cannot be
    /// read.
    pub(super) fn names(&self, folder: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.place(folder)) else { return Vec::new() };
        let name = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
        let mut names: Vec<String> = entries.filter_map(name).collect();
        names.sort_by_cached_key(|name| {
            let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
            (letters.to_owned(), name[letters.len()..].parse::<u64>().ok(), name.clone())
        });
        names
    }

    fn host(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}

/// The relevant components of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let part = |component: Component<'_>| match component {
        Component::Normal(_) | Component::ParentDir => Some(component.as_os_str().to_owned()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    };
    path.components().rev().filter_map(part).collect()
}
