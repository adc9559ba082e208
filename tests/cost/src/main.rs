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

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use end::Failure;
use shared::Name;

/// The instructions of calls through the C libraries and of the same calls in Rust.
#[derive(Debug, Parser)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs each operation once; callgrind counts the instructions.
    Run {
        /// Folder with `operations.c` compiled into dat.so and dat2.so, each linked with its
        /// library.
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
