//! Which files are read. Each test uses its own folder in place of /etc.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::super::{Configuration, Registry};
use super::{assert_contains, short};

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = format!("dat-registry-{}-{next}", std::process::id());
        let path = std::env::temp_dir().join(path);
        fs::create_dir_all(path.join("dat.conf.d")).expect("a folder for the test");
        Self(path)
    }

    fn write(&self, file: &str, name: &str) -> PathBuf {
        let path = self.0.join(file);
        let line = format!("{name} u2.0 threadsafe default lib p.1.2 \"\" \"\"");
        fs::write(&path, line).expect("a file of the test");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed stays among the temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn read(overriding: Option<&OsStr>, etc: &Path) -> Vec<String> {
    let configuration = Configuration::from_paths(overriding, etc);
    Registry::with_configuration(configuration).list().iter().map(short).collect()
}

fn names(overriding: Option<&Path>, etc: &Path) -> Vec<String> {
    let configuration = Configuration::from_paths(overriding.map(Path::as_os_str), etc);
    Registry::with_configuration(configuration).list().into_iter().map(|it| it.name).collect()
}

#[test]
fn the_file_comes_before_the_folder_and_that_in_the_order_of_names() {
    let etc = Folder::new();
    etc.write("dat.conf.d/20-b.conf", "b");
    etc.write("dat.conf.d/10-a.conf", "a");
    etc.write("dat.conf.d/.hidden.conf", "hidden");
    etc.write("dat.conf.d/README", "readme");
    etc.write("dat.conf.d/30-c.conf.bak", "backup");
    etc.write("dat.conf", "main");
    assert_eq!(names(None, &etc.0), ["main", "a", "b"]);
    let entries = Registry::with_configuration(Configuration::from_paths(None, &etc.0)).list();
    let place = etc.0.join("dat.conf.d/10-a.conf");
    assert_eq!(entries[1].origin.to_string(), format!("{}:1", place.display()));
}

#[test]
fn all_files_are_optional() {
    assert!(read(None, Path::new("/nowhere/at/all")).is_empty());
    assert!(Configuration::empty().items().is_empty());
}

#[test]
fn nothing_is_read_in_place_of_an_overriding_file() {
    let etc = Folder::new();
    etc.write("dat.conf", "main");
    etc.write("dat.conf.d/a.conf", "a");
    let other = etc.write("other", "other");
    assert_eq!(names(Some(&other), &etc.0), ["other"]);

    let missing = etc.0.join("missing");
    let entries = read(Some(missing.as_os_str()), &etc.0);
    assert_eq!(entries.len(), 1);
    let place = missing.display().to_string();
    assert_contains(
        &entries[0],
        &[&place, "\"\" unusable: cannot read the file that DAT_OVERRIDE names"],
    );

    let entries = read(Some(OsStr::new("")), &etc.0);
    assert_eq!(entries.len(), 1);
    assert_contains(&entries[0], &["DAT_OVERRIDE \"\" unusable:", "the variable is empty"]);
}

#[test]
fn a_file_that_cannot_be_read_is_listed_and_the_others_are_read() {
    let etc = Folder::new();
    etc.write("dat.conf", "main");
    etc.write("dat.conf.d/z.conf", "z");
    // A folder can be opened but not read, even by root.
    fs::create_dir(etc.0.join("dat.conf.d/a.conf")).expect("a folder of the test");
    fs::write(etc.0.join("dat.conf.d/b.conf"), vec![b'#'; (1 << 20) + 1]).expect("a large file");
    let entries = Registry::with_configuration(Configuration::from_paths(None, &etc.0)).list();
    let short: Vec<String> = entries.iter().map(short).collect();
    assert_eq!(entries.len(), 4, "{short:?}");
    assert_eq!((entries[0].name.as_str(), entries[3].name.as_str()), ("main", "z"));
    let folder = entries[1].status.reason().expect("a reason");
    assert_eq!(folder.raw_os_error(), Some(nix::errno::Errno::EISDIR as i32));
    assert_contains(
        &folder.to_string(),
        &["a.conf: ", "cannot read the configuration file", "directory"],
    );
    assert_contains(&short[2], &["b.conf \"\" unusable:", "longer than 1048576 bytes"]);
    assert!(entries[1].to_line().is_none());
}
