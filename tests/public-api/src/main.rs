//! Lists the public items of a crate, one a line and sorted, from the file that rustdoc has written about it.
//!
//!     dat-public-api target/doc/dat_core.json

use std::collections::BTreeSet;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use public_api::Builder;

/// Traits that the compiler implements, and on which no program of ours relies.
const OMITTED: [&str; 6] = [
    "core::marker::Freeze for",
    "core::marker::StructuralPartialEq for",
    "core::marker::Unpin for",
    "core::marker::UnsafeUnpin for",
    "core::panic::unwind_safe::RefUnwindSafe for",
    "core::panic::unwind_safe::UnwindSafe for",
];

fn lines(json: PathBuf) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let api = Builder::from_rustdoc_json(json).omit_blanket_impls(true).build()?;
    let lines = api.items().map(ToString::to_string);
    Ok(lines.filter(|line| !OMITTED.iter().any(|omitted| line.contains(omitted))).collect())
}

fn main() -> ExitCode {
    let Some(json) = std::env::args_os().nth(1) else {
        eprintln!("usage: dat-public-api FILE.json");
        return ExitCode::from(2);
    };
    match lines(json.into()) {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("{line}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("dat-public-api: {error}");
            ExitCode::FAILURE
        }
    }
}
