//! `dat ping`: does an adapter work, step by step.

mod bench;
mod plan;
mod runner;
mod transfer;
mod window;

use std::time::Duration;

use dat_core::Registry;
use serde_json::json;

use crate::fault::Fault;
use crate::output::Output;
use crate::{EXIT_CODES, Verdict, providers, units};
use bench::Bench;
use runner::Runner;

/// Connects two endpoints of an adapter to each other and tries everything, step by step.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat ping loopback
  dat ping 'loopback?max_message_size=4096'
  dat ping loopback --timeout 2 --json

Every byte that arrives is compared with a pattern that differs for each position and
step, and so are the bytes around it that must not change; the time of a step is without
that. What the adapter doesn't have, or what exceeds its limits, is left out; that is no
failure.

{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The name of the adapter, as `dat list` shows it
    #[arg(value_name = "IA")]
    name: String,
    /// How long each wait may take
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = units::parse_seconds)]
    timeout: Duration,
    /// Prints JSON, after the last step
    #[arg(long)]
    json: bool,
}

/// Does what the command is for.
pub(crate) fn run(args: &Args, output: &mut Output) -> Verdict {
    let bench = Bench::new(providers::registry(), args.name.clone(), args.timeout);
    let runner = walk(bench, !args.json, output);
    let summary = runner.summary();
    if args.json {
        output.json(&json!({
            "name": args.name,
            "passed": summary.failed == 0,
            "summary": summary,
            "steps": runner.records(),
        }));
    } else {
        runner.print_summary(output);
    }
    if summary.failed == 0 { Verdict::Well } else { Verdict::Failed }
}

/// What trying every step gave, for who shows something else.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// How many steps passed.
    pub(crate) passed: usize,
    /// The first step that failed, and why.
    pub(crate) failure: Option<(String, Fault)>,
}

/// Tries every step on an adapter and prints nothing.
pub(crate) fn try_quietly(
    registry: Registry,
    name: &str,
    patience: Duration,
    output: &mut Output,
) -> Outcome {
    let runner = walk(Bench::new(registry, name.to_owned(), patience), false, output);
    Outcome { passed: runner.summary().passed, failure: runner.first_failure() }
}

/// Runs the steps that the adapter's limits ask for.
fn walk(mut bench: Bench, shown: bool, output: &mut Output) -> Runner {
    let mut runner = Runner::new(shown);
    runner.step(plan::open(), &mut bench, output);
    for step in plan::rest(&bench) {
        runner.step(step, &mut bench, output);
    }
    runner
}
