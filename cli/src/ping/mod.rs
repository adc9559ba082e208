//! `dat ping`: does an adapter work, step by step.

mod bench;
mod greeting;
mod pieces;
mod plan;
mod runner;
mod serve;
mod transfer;
mod visit;
mod window;

use std::num::NonZeroU64;
use std::time::Duration;

use dat_core::Registry;
use serde_json::json;

use crate::fault::Fault;
use crate::output::Output;
use crate::{EXIT_CODES, Verdict, providers, units};
use bench::Bench;
use runner::{Runner, Step, Subject};
use serve::Service;
use visit::Visit;

/// Connects two endpoints of an adapter to each other, or one to another machine, and tries
/// everything, step by step.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat ping loopback
  dat ping 'loopback?max_message_size=4096'
  dat ping loopback --timeout 2 --json
  dat ping rxe0-1 --listen            on one machine, and then
  dat ping rxe0-1 192.0.2.7           on another: the address is what the first one printed

Without HOST and --listen both ends of the connection are here. With --listen the command
answers one client after the other, until it is interrupted or --clients have been there.
It sends each message back and offers a piece of memory; the client compares what comes
back, and reads back what it wrote.

Every byte that arrives is compared with a pattern that differs for each position and
step, and so are the bytes around it that must not change; the time of a step is without
that. What the adapter doesn't have, or what exceeds its limits, is left out; that is no
failure.

{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The name of the adapter, as `dat list` shows it
    #[arg(value_name = "IA")]
    name: String,
    /// The other machine, where `dat ping IA --listen` runs: a name or an address
    #[arg(conflicts_with_all = ["listen", "clients"])]
    host: Option<String>,
    /// Answers clients on other machines
    #[arg(long)]
    listen: bool,
    /// The connection qualifier, which is a port number on most transports, to listen on or to
    /// connect to
    #[arg(long, value_name = "PORT", default_value_t = 7176)]
    port: u64,
    /// With --listen: ends after so many clients
    #[arg(long, value_name = "COUNT", requires = "listen")]
    clients: Option<NonZeroU64>,
    /// How long each wait may take; --listen waits for a new client as long as it takes
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = units::parse_seconds)]
    timeout: Duration,
    /// Prints JSON: after the last step, or with --listen after each client
    #[arg(long)]
    json: bool,
}

/// Does what the command is for.
pub(crate) fn run(args: &Args, output: &mut Output) -> Verdict {
    let (registry, name) = (providers::registry(), args.name.clone());
    if args.listen {
        return listen(args, registry, output);
    }
    let runner = match &args.host {
        Some(host) => {
            let visit = Visit::new(registry, name, (host.clone(), args.port), args.timeout);
            walk(visit, visit::open(), visit::rest, !args.json, output)
        }
        None => {
            let bench = Bench::new(registry, name, args.timeout);
            walk(bench, plan::open(), plan::rest, !args.json, output)
        }
    };
    let summary = runner.summary();
    if args.json {
        let mut report = json!({
            "name": args.name,
            "passed": summary.failed == 0,
            "summary": summary,
            "steps": runner.records(),
        });
        if let Some(host) = &args.host {
            report["host"] = json!(host);
        }
        output.json(&report);
    } else {
        runner.print_summary(output);
    }
    if summary.failed == 0 { Verdict::Well } else { Verdict::Failed }
}

/// Answers clients.
fn listen(args: &Args, registry: Registry, output: &mut Output) -> Verdict {
    let (mut left, mut well) = (args.clients.map(NonZeroU64::get), true);
    let served = Service::new(&registry, &args.name, args.port, args.timeout).and_then(|service| {
        if !args.json {
            service.print_address(output);
        }
        while left != Some(0) {
            let call = service.next()?;
            if args.json {
                output.json(&call);
            } else {
                call.print(output);
            }
            well &= call.is_well();
            left = left.map(|left| left - 1);
        }
        service.end()
    });
    match served {
        Ok(()) if well => return Verdict::Well,
        Ok(()) => {}
        Err(fault) if args.json => output.json(&json!({ "name": args.name, "fault": fault })),
        Err(fault) => fault.print("", output),
    }
    Verdict::Failed
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
    let bench = Bench::new(registry, name.to_owned(), patience);
    let runner = walk(bench, plan::open(), plan::rest, false, output);
    Outcome { passed: runner.summary().passed, failure: runner.first_failure() }
}

/// Runs the first step, and then those that the adapter's limits ask for.
fn walk<S: Subject>(
    mut subject: S,
    open: Step<S>,
    rest: impl FnOnce(&S) -> Vec<Step<S>>,
    shown: bool,
    output: &mut Output,
) -> Runner {
    let mut runner = Runner::new(shown);
    runner.step(open, &mut subject, output);
    for step in rest(&subject) {
        runner.step(step, &mut subject, output);
    }
    runner
}
