//! `dat perf`: the latency and bandwidth of transfers.

pub mod bandwidth;
pub mod buffers;
mod curves;
pub mod fixture;
mod latency;
pub mod memcpy;
mod op;
pub mod plan;
mod report;
pub mod svg;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use crate::error::CliError;
use crate::output::{Output, complain, progress_bar};
use crate::{EXIT_CODES, Verdict, units};
use buffers::Buffers;
use fixture::Fixture;
pub use op::Op;
use plan::Plan;
use report::Report;

/// Measures latency and bandwidth between two endpoints of an adapter.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat perf loopback
  dat perf loopback --quick
  dat perf loopback --sizes 64,1M --op send,write
  dat perf loopback --seconds 60 --plot loopback.svg
  dat perf 'loopback?max_message_size=65536' --json

Method (one polling thread):
  latency    For a send: half of a round trip between the two endpoints, including
             reposting the receives. For an RDMA write or read: from the post to its
             completion. Transfers are timed in batches of up to 64, so that reading the
             clock takes at most 2 % of the time. A value is the mean of its batch, so
             larger batches smooth the highest values. Percentiles are over batches.
  bandwidth  WINDOW transfers in flight, each with its own buffer; the median of five
             rounds. MEMCPY is a copy of blocks of the same size through as much memory,
             measured between the rounds.
1 GB is 10^9 bytes; KiB and MiB are 2^10 and 2^20. Before each measurement all buffers are
verified against a pattern, and samples of them afterwards. Sizes above the limits of the
adapter are skipped.

{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The name of the adapter, as `dat list` shows it
    #[arg(value_name = "IA")]
    name: String,
    /// Transfer sizes, such as 64,4K,1M
    #[arg(
        long,
        value_name = "SIZES",
        value_delimiter = ',',
        default_value = "1,8,64,512,4K,64K,1M",
        value_parser = transfer_size
    )]
    sizes: Vec<u64>,
    /// The operations to measure
    #[arg(
        long,
        value_name = "OPS",
        value_delimiter = ',',
        value_enum,
        default_value = "send,write,read"
    )]
    op: Vec<Op>,
    /// Total time of all measurements
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "10",
        value_parser = units::parse_seconds,
        conflicts_with = "quick"
    )]
    seconds: Duration,
    /// Takes about a second
    #[arg(long)]
    quick: bool,
    /// Writes a plot of latency and bandwidth by transfer size
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Timeout of each wait
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = units::parse_seconds)]
    timeout: Duration,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

/// The longest transfer that is measured, limited by the memory for several of them.
const LONGEST: u64 = 256 << 20;

fn transfer_size(text: &str) -> Result<u64, String> {
    match units::parse_bytes(text).map_err(|error| error.to_string())? {
        size @ 1..=LONGEST => Ok(size),
        _ => Err(format!("use sizes from 1 to {}", units::bytes(LONGEST))),
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args, output: &mut Output) -> Verdict {
    let report = match measure(args) {
        Ok(report) => report,
        Err(error) => return failed(args, &error, output),
    };
    if args.json {
        output.json(&report);
    } else {
        report.print(output);
    }
    if !plotted(args, &report) || report.latency.is_empty() {
        return Verdict::Failed;
    }
    Verdict::Well
}

/// Writes the plot, if one is wanted.
fn plotted(args: &Args, report: &Report) -> bool {
    let Some(file) = &args.plot else { return true };
    let written = std::fs::write(file, curves::svg(report));
    if let Err(error) = &written {
        complain(&format!("cannot write {}: {error}", file.display()));
    }
    written.is_ok()
}

fn failed(args: &Args, error: &CliError, output: &mut Output) -> Verdict {
    if args.json {
        output.json(&json!({ "name": args.name, "error": error }));
    } else {
        complain(&format!("cannot measure {}: {error}", args.name));
    }
    Verdict::Failed
}

impl Args {
    /// Total time of all measurements.
    fn time(&self) -> Duration {
        if self.quick { Duration::from_secs(1) } else { self.seconds }
    }
}

fn measure(args: &Args) -> Result<Report, CliError> {
    let fixture = Fixture::new(&args.name, args.timeout)?;
    let plan = Plan::new(&fixture, &args.op, &args.sizes);
    let budget = args.time() / u32::try_from(plan.cells.len().max(1)).unwrap_or(u32::MAX);
    let mut report = Report::new(&args.name, &fixture, plan.left_out);
    let progress = progress_bar(plan.cells.len() as u64);
    for (op, size) in plan.cells {
        progress.inc(1);
        progress.set_message(format!("{} {}", op.name(), units::bytes(size)));
        let buffers = Buffers::there(&fixture, op, size)?;
        buffers.verify()?;
        // Two fifths for the latency, three for the bandwidth and what it is compared with.
        report.latency.push(latency::measure(&buffers, budget * 2 / 5)?);
        report.bandwidth.push(bandwidth::measure(&buffers, budget * 3 / 5)?);
        buffers.sample()?;
    }
    progress.finish_and_clear();
    fixture.end()?;
    Ok(report.concluded())
}
