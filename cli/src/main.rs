//! The `dat` command: what can be opened, whether it works, how fast it is, and what a code
//! means.

#![forbid(unsafe_code)]

mod completions;
mod conformance;
mod doctor;
mod explain;
mod fault;
mod info;
mod list;
mod man;
mod output;
mod pattern;
mod perf;
mod ping;
mod providers;
mod session;
mod side;
mod units;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use output::Output;

/// The end of every help text.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  the thing asked about failed: an IA can't be opened, a step of ping failed, doctor
     found a problem
  2  the command line is wrong";

/// Lists, checks, measures and explains DAT interface adapters (IAs).
#[derive(Debug, Parser)]
#[command(
    name = "dat",
    version,
    arg_required_else_help = true,
    after_help = format!("\
Examples:
  dat list                 what can be opened, and why the rest can't
  dat doctor               is this machine fit for use, and what to do if not
  dat ping loopback        does it work, step by step
  dat perf loopback        how fast is it
  dat explain 0x8005000b   what did the program mean
  dat conformance loopback  does it keep every rule of the documents

An IA is named as `dat list` shows it. Parameters for its provider may follow a question
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
    Completions(completions::Args),
    Man(man::Args),
}

/// Whether what was asked about is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is.
    Well,
    /// It is not; the output says why.
    Failed,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut output = Output::stdout();
    let verdict = match &cli.command {
        Command::List(args) => list::run(args, &mut output),
        Command::Doctor(args) => doctor::run(args, &mut output),
        Command::Info(args) => info::run(args, &mut output),
        Command::Ping(args) => ping::run(args, &mut output),
        Command::Perf(args) => perf::run(args, &mut output),
        Command::Explain(args) => explain::run(args, &mut output),
        Command::Conformance(args) => conformance::run(args, &mut output),
        Command::Completions(args) => completions::run(args, Cli::command(), &mut output),
        Command::Man(args) => man::run(args, Cli::command(), &mut output),
    };
    if let Err(error) = output.finish() {
        output::complain(&format!("the output can't be written: {error}"));
        return ExitCode::FAILURE;
    }
    match verdict {
        Verdict::Well => ExitCode::SUCCESS,
        Verdict::Failed => ExitCode::FAILURE,
    }
}
