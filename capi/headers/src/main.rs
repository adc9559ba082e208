//! Generates the C headers from the Rust sources in capi, and the manual pages
//! of the calls from docs/pages/calls: `dat-headers FOLDER` writes `FOLDER/include/dat` (DAT 1.2),
//! `FOLDER/include/dat2` (DAT 2.0), `FOLDER/docs/man/man3`, and the prototypes that the pages show to
//! `FOLDER/docs/pages/prototypes.txt`.
//!
//! What cbindgen can express comes from it. Strings, pointers and the macros that reach a provider
//! through its table are generated here from the same sources; what only C can express is in
//! `fragments`.

mod calls;
mod generate;
mod header;
mod manual;
mod plan;
mod polish;
mod redirect;
mod source;
mod versions;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use plan::{HEADERS, Version};

fn main() -> ExitCode {
    let Some(folder) = env::args_os().nth(1) else {
        eprintln!("usage: dat-headers FOLDER");
        return ExitCode::from(2);
    };
    match write_all(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dat-headers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write_all(folder: &Path) -> Result<(), Box<dyn Error>> {
    let capi = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut prototypes = String::new();
    for version in [Version::V1, Version::V2] {
        for header in HEADERS.iter().filter(|header| header.exists_in(version)) {
            let text = header::text(&capi, version, header)
                .map_err(|e| format!("{}/{}: {e}", version.folder(), header.name))?;
            manual::collect(&mut prototypes, version, &text);
            write(&folder.join("include").join(version.folder()), header.name, &text)?;
        }
    }
    manual::write_all(folder, &prototypes)
}

/// Writes a file into a directory, which is created.
fn write(place: &Path, name: &str, text: &str) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(place).map_err(|e| format!("{}: {e}", place.display()))?;
    let path = place.join(name);
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(())
}
