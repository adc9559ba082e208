//! The instructions of calls through the C libraries and of the same calls in Rust (.ci/instructions).
//!
//!     dat-cost run FOLDER dat2   to be run under callgrind
//!     dat-cost check ...         the instructions that callgrind counted, against a table

mod end;
mod instructions;
mod native;
mod operation;
mod profile;
mod shared;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use end::Failure;
use shared::Name;

/// Without a crate for options: those have features with which the crates of the libraries would be compiled again.
const USAGE: &str = "\
usage: dat-cost run FOLDER LIBRARY
           runs each operation once, and callgrind counts the instructions. FOLDER has operations.c, compiled into dat.so
           and dat2.so, each linked with its library; LIBRARY is dat or dat2
       dat-cost check DAT DAT2 TABLE [--bless]
           compares the counts of callgrind, in its output files for both libraries, with a table; with --bless, it
           writes the table";

/// Returns true if no count is beyond its bound, and nothing if the arguments are wrong.
fn run(arguments: &[&str]) -> Option<Result<bool, Failure>> {
    let check = |[dat, dat2, table]: [&str; 3], bless| {
        let counts = [(Name::Dat, PathBuf::from(dat)), (Name::Dat2, PathBuf::from(dat2))];
        instructions::check(&counts, Path::new(table), bless)
    };
    Some(match *arguments {
        ["run", folder, library] => {
            let library = Name::ALL.into_iter().find(|name| name.text() == library)?;
            instructions::run(Path::new(folder), library).map(|()| true)
        }
        ["check", dat, dat2, table] => check([dat, dat2, table], false),
        ["check", dat, dat2, table, "--bless"] => check([dat, dat2, table], true),
        _ => return None,
    })
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Some(Ok(true)) => ExitCode::SUCCESS,
        Some(Ok(false)) => ExitCode::FAILURE,
        Some(Err(error)) => {
            eprintln!("dat-cost: {error}");
            ExitCode::from(2)
        }
        None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
