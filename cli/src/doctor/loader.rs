//! The file that the loader finds for a shared object.
//!
//! It searches as for a program without its own search path: `LD_LIBRARY_PATH`, the
//! cache, the system directories.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::env::consts::ARCH;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::cache;
use super::image::Image;
use super::system::System;

/// The maximum length of a shared object that is read.
const MAX_OBJECT: u64 = 256 << 20;
const MAX_CACHE: u64 = 16 << 20;
/// The maximum number of dependencies that are followed.
const MAX_NEEDED: usize = 512;

/// The loader of a system.
pub(super) struct Loader<'a> {
    system: &'a System,
    folders: Vec<PathBuf>,
    cached: Vec<(String, String)>,
    defaults: Vec<PathBuf>,
    read: RefCell<BTreeMap<PathBuf, Result<Rc<Image>, String>>>,
}

/// A shared object that was found.
pub(super) struct Object {
    /// The path where the loader finds it.
    pub(super) path: PathBuf,
    /// The file that the path resolves to.
    pub(super) file: PathBuf,
    pub(super) image: Rc<Image>,
}

impl<'a> Loader<'a> {
    pub(super) fn new(system: &'a System, search_path: Option<&OsStr>) -> Self {
        let folders = search_path.map(|path| path.to_string_lossy().into_owned());
        let folders = folders.as_deref().unwrap_or_default();
        let triplet = format!("{ARCH}-linux-gnu");
        let defaults = ["/lib", "/usr/lib", "/lib64", "/usr/lib64"];
        let defaults = defaults.iter().flat_map(|folder| {
            let folder = PathBuf::from(folder);
            [folder.join(&triplet), folder]
        });
        Self {
            system,
            folders: folders
                .split([':', ';'])
                .filter(|folder| !folder.is_empty())
                .map(PathBuf::from)
                .collect(),
            cached: cache::parse(&system.bytes("/etc/ld.so.cache", MAX_CACHE).unwrap_or_default()),
            defaults: defaults.collect(),
            read: RefCell::default(),
        }
    }

    /// Finds the object for a name or a path; fails with the reason.
    pub(super) fn find(&self, name: &str) -> Result<Object, String> {
        if name.contains('/') {
            return self.open(Path::new(name));
        }
        let in_folders = self.folders.iter().map(|folder| folder.join(name));
        let in_cache = self.cached.iter().filter(|entry| entry.0 == name);
        let in_cache = in_cache.map(|entry| PathBuf::from(&entry.1));
        let in_defaults = self.defaults.iter().map(|folder| folder.join(name));
        let mut refused = None;
        for path in in_folders.chain(in_cache).chain(in_defaults) {
            if !self.system.has(&path) {
                continue;
            }
            match self.open(&path) {
                Ok(object) => return Ok(object),
                Err(reason) => refused = refused.or(Some(reason)),
            }
        }
        Err(refused.unwrap_or_else(|| "the loader does not find a file with that name".to_owned()))
    }

    /// The missing dependencies of an object, each with the object that needs it.
    pub(super) fn missing(&self, name: &str, object: &Object) -> Vec<(String, String)> {
        let mut missing = Vec::new();
        let mut seen = BTreeSet::new();
        let needs = |image: &Image, by: &str| -> Vec<(String, String)> {
            image.needed.iter().map(|name| (name.clone(), by.to_owned())).collect()
        };
        let mut pending = needs(&object.image, name);
        while let Some((name, by)) = pending.pop() {
            if !seen.insert(name.clone()) || seen.len() > MAX_NEEDED {
                continue;
            }
            match self.find(&name) {
                Ok(object) => pending.extend(needs(&object.image, &name)),
                Err(_) => missing.push((name, by)),
            }
        }
        missing.sort();
        missing
    }

    fn open(&self, path: &Path) -> Result<Object, String> {
        let file = self.system.resolve(path);
        let mut read = self.read.borrow_mut();
        let image = read.entry(file.clone()).or_insert_with(|| {
            let bytes = self.system.bytes(&file, MAX_OBJECT).map_err(|error| error.to_string());
            Image::parse(&bytes?).map(Rc::new)
        });
        let reason = |reason: &str| format!("cannot load {}: {reason}", path.display());
        match image {
            Ok(image) if image.fits() => {
                Ok(Object { path: path.to_owned(), file, image: Rc::clone(image) })
            }
            Ok(_) => Err(reason("built for another processor architecture")),
            Err(error) => Err(reason(error)),
        }
    }
}
