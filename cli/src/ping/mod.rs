//! `dat ping`: tests an adapter, step by step.

mod client;
pub(crate) mod handshake;
mod local;
mod pieces;
mod plan;
mod rmr;
mod runner;
mod server;
mod transfer;

use std::num::NonZeroU64;
use std::time::Duration;

use dat_core::Registry;
use serde_json::json;

use crate::error::CliError;
use crate::output::Output;
use crate::{EXIT_CODES, Verdict, providers, units};
use client::Client;
use local::Local;
use runner::{Runner, Step, Subject};
use server::Server;

/// Connects two endpoints of one adapter, or this machine to another one, and tests every
/// operation, step by step.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat ping loopback
  dat ping 'loopback?max_message_size=4096'
  dat ping loopback --timeout 2 --json
  dat ping loopback --trace           with each call into the provider, on standard error
  dat ping rxe0-1 --listen            on one machine, then
  dat ping rxe0-1 192.0.2.7           on another, with the address that the first printed

Without HOST and --listen both ends of the connection are in this process. With --listen
the command serves one client after another until it is interrupted or has served --clients
of them. It echoes each message and exposes a memory buffer; the client verifies the echoed
messages, and reads back the data that it wrote.

Every received byte is compared with a pattern that depends on its position and the step,
and the surrounding bytes are checked for changes. The time of a step does not include these
checks. Steps that the adapter does not support, or that exceed its limits, are skipped; a
skipped step is not a failure.

{EXIT_CODES}"))]
#[command(group(clap::ArgGroup::new("peer").args(["host", "listen"])))]
pub(crate) struct Args {
    /// The name of the adapter, as `dat list` shows it
    #[arg(value_name = "IA")]
    name: String,
    /// Name or address of the other machine, where `dat ping IA --listen` runs
    #[arg(conflicts_with_all = ["listen", "clients"])]
    host: Option<String>,
    /// Serves clients on other machines
    #[arg(long)]
    listen: bool,
    /// Connection qualifier (a port number on most transports) to listen on or connect to
    #[arg(long, value_name = "PORT", default_value_t = 7176, requires = "peer")]
    port: u64,
    /// With --listen: exits after this number of clients
    #[arg(long, value_name = "COUNT", requires = "listen")]
    clients: Option<NonZeroU64>,
    /// Timeout of each wait; --listen waits for new clients without a timeout
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = units::parse_seconds)]
    timeout: Duration,
    /// Prints each call into the provider and each upcall, or appends them to a file
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "/dev/stderr"
    )]
    trace: Option<String>,
    /// Prints JSON after the last step, or with --listen after each client
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args, registry: &Registry, output: &mut Output) -> Verdict {
    let (registry, name) = (registry.clone(), args.traced_name());
    if (args.listen || args.host.is_some()) && providers::stays_in_process(&registry, &args.name) {
        let error = CliError::unreachable(&args.name);
        if args.json {
            output.json(&json!({ "name": args.name, "fault": error }));
        } else {
            error.print("", output);
        }
        return Verdict::Failed;
    }
    if args.listen {
        return listen(args, registry, output);
    }
    let runner = match &args.host {
        Some(host) => {
            let client = Client::new(registry, name, (host.clone(), args.port), args.timeout);
            walk(client, client::open(), client::rest, !args.json, output)
        }
        None => {
            let local = Local::new(registry, name, args.timeout);
            walk(local, plan::open(), plan::rest, !args.json, output)
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
    if summary.failed == 0 { Verdict::Passed } else { Verdict::Failed }
}

impl Args {
    /// The name to open, with the parameter that has its adapter traced.
    fn traced_name(&self) -> String {
        let name = &self.name;
        match &self.trace {
            Some(file) if name.contains('?') => format!("{name} trace={file}"),
            Some(file) => format!("{name}?trace={file}"),
            None => name.clone(),
        }
    }
}

/// Serves clients.
fn listen(args: &Args, registry: Registry, output: &mut Output) -> Verdict {
    let (mut left, mut well) = (args.clients.map(NonZeroU64::get), true);
    let served =
        Server::new(&registry, &args.traced_name(), args.port, args.timeout).and_then(|server| {
            if !args.json {
                server.print_address(output);
            }
            while left != Some(0) {
                let call = server.next()?;
                if args.json {
                    output.json(&call);
                } else {
                    call.print(output);
                }
                well &= call.is_well();
                left = left.map(|left| left - 1);
            }
            server.end()
        });
    match served {
        Ok(()) if well => return Verdict::Passed,
        Ok(()) => {}
        Err(error) if args.json => output.json(&json!({ "name": args.name, "fault": error })),
        Err(error) => error.print("", output),
    }
    Verdict::Failed
}

/// The result of all steps, for callers that report it themselves.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The number of steps that passed.
    pub(crate) passed: usize,
    /// The first failed step, and the reason.
    pub(crate) failure: Option<(String, CliError)>,
}

/// Runs every step on an adapter without printing.
pub(crate) fn try_quietly(
    registry: Registry,
    name: &str,
    timeout: Duration,
    output: &mut Output,
) -> Outcome {
    let local = Local::new(registry, name.to_owned(), timeout);
    let runner = walk(local, plan::open(), plan::rest, false, output);
    Outcome { passed: runner.summary().passed, failure: runner.first_failure() }
}

/// Runs the first step, and then the steps that the adapter's limits allow.
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
