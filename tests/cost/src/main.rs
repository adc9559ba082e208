//! The cost of calls through the C libraries, compared to the same calls in Rust.
//!
//!     dat-cost time FOLDER       nanoseconds, taken in turns in one process (make bench-calls)
//!     dat-cost run FOLDER dat2   to be run under callgrind (.ci/instructions)
//!     dat-cost check ...         the instructions that callgrind counted, against a table

mod crowd;
mod end;
mod instructions;
mod native;
mod operation;
mod profile;
mod rounds;
mod shared;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use end::Failure;
use shared::Name;

/// The cost of calls through the C libraries, compared to the same calls in Rust.
#[derive(Debug, Parser)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Times each operation in Rust and through both C libraries, alternating.
    Time {
        /// Folder with `operations.c` compiled into dat.so and dat2.so, each linked with its
        /// library.
        folder: PathBuf,
        /// Rounds of a hundred operations.
        #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
        rounds: u32,
        /// Also writes the results to this file, as JSON.
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// Runs each operation once; callgrind counts the instructions.
    Run {
        /// As for `time`.
        folder: PathBuf,
        /// dat or dat2.
        #[arg(value_parser = library)]
        library: Name,
    },
    /// Compares the counts of callgrind with a table.
    Check {
        /// The output file of callgrind for libdat.
        #[arg(long)]
        dat: PathBuf,
        /// The output file of callgrind for libdat2.
        #[arg(long)]
        dat2: PathBuf,
        /// Write the table instead of comparing.
        #[arg(long)]
        bless: bool,
        /// The table.
        table: PathBuf,
    },
}

fn library(text: &str) -> Result<Name, String> {
    let found = Name::ALL.into_iter().find(|name| name.text() == text);
    found.ok_or_else(|| "dat or dat2".to_owned())
}

fn run(command: Command) -> Result<bool, Failure> {
    match command {
        Command::Time { folder, rounds, json } => {
            let rows = rounds::measure(&folder, rounds)?;
            rounds::print(&rows);
            if let Some(path) = json {
                std::fs::write(&path, serde_json::to_string_pretty(&rows)?)?;
                println!("also in {}", path.display());
            }
            Ok(true)
        }
        Command::Run { folder, library } => instructions::run(&folder, library).map(|()| true),
        Command::Check { dat, dat2, bless, table } => {
            instructions::check(&[(Name::Dat, dat), (Name::Dat2, dat2)], &table, bless)
        }
    }
}

fn main() -> ExitCode {
    match run(Options::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("dat-cost: {error}");
            ExitCode::from(2)
        }
    }
}
