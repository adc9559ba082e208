//! `dat ping`: does an adapter work, step by step.

mod bench;
mod plan;
mod runner;
mod transfer;
mod window;

use std::time::Duration;

use serde_json::json;

use crate::output::Output;
use crate::{EXIT_CODES, Verdict, units};
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
    let mut bench = Bench::new(args.name.clone(), args.timeout);
    let mut runner = Runner::new(!args.json);
    runner.step(plan::open(), &mut bench, output);
    for step in plan::rest(&bench) {
        runner.step(step, &mut bench, output);
    }
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
