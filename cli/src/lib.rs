//! The `dat` command: lists, checks, tests and measures DAT interface adapters, and explains
//! codes.

#![forbid(unsafe_code)]

mod address;
mod completions;
mod conformance;
mod doctor;
mod error;
mod explain;
// For tests/fuzz-targets.
#[doc(hidden)]
pub mod fuzz;
mod info;
mod interrupt;
mod list;
mod man;
mod output;
mod pattern;
mod perf;
mod ping;
mod providers;
mod report_file;
mod session;
mod side;
mod top;
mod units;
mod verbs;
mod verdict;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use dat_core::Registry;
use dat_core::error::Terms;
use output::Output;
pub(crate) use verdict::{EXIT_CODES, Verdict};

/// Lists, checks, tests and measures DAT interface adapters (IAs), and explains DAT codes.
#[derive(Debug, Parser)]
#[command(
    name = "dat",
    version,
    arg_required_else_help = true,
    after_help = format!("\
Examples:
  dat list                 which adapters can be opened, and why the others cannot
  dat doctor               is this machine ready for RDMA, and what to fix if not
  dat ping loopback        does the adapter work, step by step
  dat perf loopback        how fast is it, by operation and size
  dat top                  what running programs do, and what they wait for
  dat explain 0x8005000b   what a DAT code means
  dat verbs -- ibv_devinfo  a verbs program, without an RDMA device
  dat conformance loopback  does it follow every rule of the DAT manual pages

Use IA names as `dat list` shows them. Parameters for the provider may follow a question
mark: 'loopback?max_message_size=65536'.

{EXIT_CODES}")
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Args),
    Doctor(doctor::Args),
    Info(info::Args),
    Ping(ping::Args),
    Perf(perf::Args),
    Explain(explain::Args),
    Conformance(conformance::Args),
    Top(top::Args),
    Verbs(verbs::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// A registry with the configuration of this machine and the built-in providers.
#[must_use]
pub fn built_in() -> Registry {
    providers::registry()
}

/// Raises the soft limit of descriptors to the hard limit, so that `max_eps` is not the smaller one: adapters leave the
/// limit alone, and the command uses no select(2).
fn raise_descriptors() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // Without it, fewer connections are possible.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Parses the command line and runs the command with the adapters of a registry. A program with a provider
/// of its own adds it to [`built_in`], or to an empty registry, and calls this in its `main`: it then
/// is the `dat` command with that provider's adapters.
///
/// `dat doctor` checks the machine and the built-in providers, whatever the registry.
#[must_use]
pub fn run(registry: &Registry) -> ExitCode {
    let cli = Cli::parse();
    // Operators look names up in the manual pages, and with `dat explain`.
    Terms::C.make_current();
    if matches!(&cli.command, Command::Ping(_) | Command::Perf(_) | Command::Conformance(_)) {
        raise_descriptors();
    }
    let mut output = Output::stdout();
    let verdict = match &cli.command {
        Command::List(args) => list::run(args, registry, &mut output),
        Command::Doctor(args) => doctor::run(args, &mut output),
        Command::Info(args) => info::run(args, registry, &mut output),
        Command::Ping(args) => ping::run(args, registry, &mut output),
        Command::Perf(args) => perf::run(args, registry, &mut output),
        Command::Explain(args) => explain::run(args, &mut output),
        Command::Conformance(args) => conformance::run(args, registry, &mut output),
        Command::Top(args) => top::run(args, &mut output),
        Command::Verbs(args) => verbs::run(args, &mut output),
        Command::Completions(args) => completions::run(args, Cli::command(), &mut output),
        Command::Man(args) => man::run(args, Cli::command(), &mut output),
    };
    if let Err(error) = output.finish() {
        output::complain(&format!("cannot write the output: {error}"));
        return ExitCode::FAILURE;
    }
    match verdict {
        Verdict::Passed => ExitCode::SUCCESS,
        Verdict::Failed => ExitCode::FAILURE,
    }
}
