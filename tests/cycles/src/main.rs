//! Finds the import cycles among the source files of a crate.
//!
//! `dat-cycles [--max N] [--list] ROOT...` reads each crate from its root file (`src/lib.rs`),
//! builds the graph of which file uses items of which other file, and fails if a strongly
//! connected component has more than N files. A re-export does not count: a path through `pub use`
//! counts as a use of the file that defines the item. Code under `cfg(test)` is ignored.

mod graph;
mod krate;
mod paths;

use std::path::PathBuf;
use std::process::ExitCode;

use krate::Krate;

/// Largest number of files that may use each other in a cycle.
const MAX_FILES: usize = 5;

fn main() -> ExitCode {
    let mut max = MAX_FILES;
    let mut list = false;
    let mut roots = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => list = true,
            "--max" => match arguments.next().and_then(|value| value.parse().ok()) {
                Some(value) => max = value,
                None => return usage(),
            },
            _ => roots.push(PathBuf::from(argument)),
        }
    }
    if roots.is_empty() {
        return usage();
    }
    let mut failed = false;
    for root in roots {
        let krate = match Krate::read(&root, &|path| std::fs::read_to_string(path)) {
            Ok(krate) => krate,
            Err(error) => {
                eprintln!("{}: {error}", root.display());
                failed = true;
                continue;
            }
        };
        let uses = krate.uses();
        let cycles = graph::cycles(krate.files.len(), &uses);
        let largest = cycles.iter().map(Vec::len).max().unwrap_or(0);
        println!(
            "{}: {} files, {} cycles, the largest of {largest} files",
            root.display(),
            krate.files.len(),
            cycles.len()
        );
        for cycle in cycles.iter().filter(|cycle| list || cycle.len() > max) {
            let verdict = if cycle.len() > max { "too large" } else { "allowed" };
            println!("  cycle of {} files ({verdict}):", cycle.len());
            for (from, to, item) in uses.iter() {
                if cycle.contains(from) && cycle.contains(to) {
                    println!("    {} uses {item} of {}", krate.name(*from), krate.name(*to));
                }
            }
        }
        failed |= largest > max;
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn usage() -> ExitCode {
    eprintln!("usage: dat-cycles [--max FILES] [--list] ROOT...");
    ExitCode::from(2)
}

#[cfg(test)]
mod tests;
