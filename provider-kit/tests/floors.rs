//! The floors of the engine: each uses only those below it, and the protocol has no I/O.

use std::fs;
use std::path::{Path, PathBuf};

/// The floors, from below, and what their sources must not name.
const FLOORS: [(&str, &[&str]); 3] = [
    (
        "protocol",
        &[
            "crate::progress",
            "crate::queue_pair",
            "Arc<",
            "Mutex",
            "atomic::",
            "Instant",
            "epoll",
            "BorrowedFd",
            "rustix",
            "libc",
        ],
    ),
    ("progress", &["crate::queue_pair"]),
    ("queue_pair", &["crate::engine"]),
];

/// The sources in a folder, without the tests.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            if !path.ends_with("tests") {
                sources(&path, into);
            }
        } else {
            into.push(path);
        }
    }
}

#[test]
fn each_floor_uses_only_those_below_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (floor, forbidden) in FLOORS {
        let mut files = Vec::new();
        sources(&root.join(floor), &mut files);
        assert!(files.len() > 5, "{floor} has its files elsewhere");
        for file in files {
            let text = fs::read_to_string(&file).expect("a source");
            for name in forbidden {
                assert!(!text.contains(name), "{} names {name}", file.display());
            }
        }
    }
}
