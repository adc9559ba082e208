//! Finds the cycles among the source files of a crate.
//!
//! `dat-cycles [--list] [--knot ROOT=FILES]... ROOT...` reads each crate from its root file (`src/lib.rs`),
//! builds the graph of which file uses items of which other file or calls their methods, and fails if a
//! strongly connected component has more than five files. `--knot` names the root of a crate whose largest component
//! still has more, and how many; if it has shrunk, the number has to follow. A re-export does not count: a
//! path through `pub use` counts as a use of the file that defines the item. Code under `cfg(test)` is
//! ignored.

mod graph;
mod krate;
mod methods;
mod paths;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use krate::Krate;

/// Largest number of files that may use each other in a cycle.
const MAX_FILES: usize = 5;

fn main() -> ExitCode {
    let mut knots = BTreeMap::new();
    let mut list = false;
    let mut roots = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => list = true,
            "--knot" => match arguments.next().as_deref().and_then(knot) {
                Some((name, files)) => drop(knots.insert(name, files)),
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
        let known = knots
            .iter()
            .find(|(name, _)| root == std::path::Path::new(name))
            .map(|(_, files)| *files);
        let max = known.unwrap_or(MAX_FILES);
        if known.is_some_and(|known| largest < known) {
            println!("  it has shrunk: --knot has to say {largest}, or to go");
            failed = true;
        }
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

/// Reads `ROOT=FILES`.
fn knot(text: &str) -> Option<(String, usize)> {
    let (name, files) = text.split_once('=')?;
    Some((name.to_owned(), files.parse().ok()?))
}

fn usage() -> ExitCode {
    eprintln!("usage: dat-cycles [--list] [--knot ROOT=FILES]... ROOT...");
    ExitCode::from(2)
}

#[cfg(test)]
mod tests;
