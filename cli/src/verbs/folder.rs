//! Where the two libraries are.

use std::path::{Path, PathBuf};

/// The files that the folder must contain.
const LIBRARIES: [&str; 2] = ["libibverbs.so.1", "librdmacm.so.1"];

/// The folder with the libraries: the given one, or the one that belongs to this command.
///
/// # Errors
/// A text: neither of the folders has them.
pub(super) fn find(given: Option<&Path>) -> Result<PathBuf, String> {
    let command = std::env::current_exe().and_then(|path| path.canonicalize());
    let folders = match (given, &command) {
        (Some(folder), _) => vec![folder.to_owned()],
        (None, Ok(command)) => next_to(command),
        (None, Err(error)) => return Err(format!("cannot find this command: {error}")),
    };
    let complete = |folder: &&PathBuf| LIBRARIES.iter().all(|name| folder.join(name).is_file());
    let found = folders.iter().find(complete);
    // The program may change its directory.
    found.map(|folder| std::path::absolute(folder).unwrap_or_else(|_| folder.clone())).ok_or_else(|| {
        let searched: Vec<String> =
            folders.iter().map(|folder| folder.display().to_string()).collect();
        format!(
            "libibverbs.so.1 and librdmacm.so.1 of soft-verbs are not in {}: build them with `make verbs`, install the \
             package of this command, or give their folder with --libraries",
            searched.join(" or ")
        )
    })
}

/// The folders that belong to a command: of a build, and of an installation in `bin` next to a folder for libraries.
fn next_to(command: &Path) -> Vec<PathBuf> {
    let Some(prefix) = command.parent().and_then(Path::parent) else { return Vec::new() };
    let mut folders = vec![
        prefix.join("capi/soft-verbs"),
        prefix.join("lib/soft-verbs"),
        prefix.join("lib64/soft-verbs"),
    ];
    // Debian has a folder for each architecture.
    if let Ok(entries) = std::fs::read_dir(prefix.join("lib")) {
        let names = entries.flatten().map(|entry| entry.path());
        let mut by_machine: Vec<PathBuf> = names
            .filter(|path| path.to_string_lossy().contains("-linux-gnu"))
            .map(|path| path.join("soft-verbs"))
            .filter(|path| path.exists())
            .collect();
        by_machine.sort();
        folders.append(&mut by_machine);
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_libraries_are_found_in_a_build_and_in_an_installation() {
        let folders = next_to(Path::new("/work/target/release/dat"));
        assert_eq!(folders[0], Path::new("/work/target/capi/soft-verbs"));
        let folders = next_to(Path::new("/usr/local/bin/dat"));
        assert!(folders.contains(&PathBuf::from("/usr/local/lib/soft-verbs")));
    }

    #[test]
    fn a_folder_without_the_libraries_is_refused_with_what_to_do() {
        let error = find(Some(Path::new("/nonexistent"))).expect_err("there is no such folder");
        assert!(error.contains("/nonexistent") && error.contains("make verbs"), "{error}");
    }
}
