//! `dat perf`: how long transfers take, and how much they move.

mod bandwidth;
mod floor;
mod lane;
mod latency;
mod memcpy;
mod plan;
mod plot;
mod report;
mod rig;

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use crate::fault::Fault;
use crate::output::{Output, Progress, complain};
use crate::{EXIT_CODES, Verdict, units};
use clap::ValueEnum;
use floor::Group;
use lane::Lane;
use plan::Plan;
use report::Report;
use rig::Rig;

/// Measures latency and bandwidth between two endpoints of an adapter.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat perf loopback
  dat perf loopback --quick
  dat perf loopback --sizes 64,1M --op send,write
  dat perf loopback --seconds 60 --plot loopback.svg
  dat perf loopback --floor --plot floor.svg
  dat perf 'loopback?max_message_size=65536' --json

How it is measured, by one thread that polls:
  latency    Of a send: half of a round trip between the two endpoints, with the
             receives posted anew. Of an RDMA write or read: from the post to its
             completion. Transfers are timed in batches of so many that reading the
             clock is 2 % of the time or less, at most 64; a value is the mean of its
             batch, so batches above 1 smooth the highest values. Percentiles are
             over batches.
  bandwidth  As many transfers under way as WINDOW says, each in a place of its own;
             the median of five rounds. Between the rounds the processor copies
             blocks of the same size over as much memory: MEMCPY.
1 GB is 10^9 bytes; KiB and MiB are 2^10 and 2^20. Before each measurement all bytes of
all places are compared with a pattern, and afterwards samples of what was measured.
Sizes above the limits of the adapter are left out.

{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The name of the adapter, as `dat list` shows it
    #[arg(value_name = "IA")]
    name: String,
    /// The sizes to transfer, such as 64,4K,1M
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
    /// How long all measurements take together
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
    /// Prints each figure beside the floor that the machine sets, measured in the same run
    #[arg(long, conflicts_with_all = ["sizes", "op"])]
    floor: bool,
    /// The rows beside their floors to measure; all, when none are named
    #[arg(long, value_name = "GROUPS", value_delimiter = ',', value_enum, requires = "floor")]
    rows: Vec<Group>,
    /// Draws latency and bandwidth over the size, or the figures beside their floors
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// How long each wait may take
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = units::parse_seconds)]
    timeout: Duration,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Op {
    /// Sends into posted receives
    Send,
    /// RDMA writes
    Write,
    /// RDMA reads
    Read,
}

impl Op {
    fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

/// The longest transfer that is measured: the memory for some of them must be there.
const LONGEST: u64 = 256 << 20;

fn transfer_size(text: &str) -> Result<u64, String> {
    match units::parse_bytes(text)? {
        size @ 1..=LONGEST => Ok(size),
        _ => Err(format!("give sizes from 1 to {}", units::bytes(LONGEST))),
    }
}

/// Does what the command is for.
pub(crate) fn run(args: &Args, output: &mut Output) -> Verdict {
    let mut progress = Progress::new();
    if args.floor {
        return run_floor(args, &mut progress, output);
    }
    let report = measure(args, &mut progress);
    progress.clear();
    let report = match report {
        Ok(report) => report,
        Err(fault) => return failed(args, &fault, output),
    };
    if args.json {
        output.json(&report);
    } else {
        report.print(output);
    }
    if !drawn(args, || plot::curves(&report)) || report.latency.is_empty() {
        return Verdict::Failed;
    }
    Verdict::Well
}

fn run_floor(args: &Args, progress: &mut Progress, output: &mut Output) -> Verdict {
    let groups = if args.rows.is_empty() { Group::value_variants() } else { &args.rows };
    let report = floor::measure(&args.name, groups, args.time(), args.timeout, progress);
    progress.clear();
    let report = match report {
        Ok(report) => report,
        Err(fault) => return failed(args, &fault, output),
    };
    if args.json {
        output.json(&report);
    } else {
        report.print(output);
    }
    if drawn(args, || plot::bars(&report)) { Verdict::Well } else { Verdict::Failed }
}

/// Writes the drawing, if there is to be one.
fn drawn(args: &Args, svg: impl FnOnce() -> String) -> bool {
    let Some(file) = &args.plot else { return true };
    let written = std::fs::write(file, svg());
    if let Err(error) = &written {
        complain(&format!("{} can't be written: {error}", file.display()));
    }
    written.is_ok()
}

fn failed(args: &Args, fault: &Fault, output: &mut Output) -> Verdict {
    if args.json {
        output.json(&json!({ "name": args.name, "error": fault }));
    } else {
        complain(&format!("{} can't be measured: {}", args.name, fault.text()));
    }
    Verdict::Failed
}

impl Args {
    /// How long all measurements take together.
    fn time(&self) -> Duration {
        if self.quick { Duration::from_secs(1) } else { self.seconds }
    }
}

fn measure(args: &Args, progress: &mut Progress) -> Result<Report, Fault> {
    let rig = Rig::new(&args.name, args.timeout)?;
    let plan = Plan::new(&rig, &args.op, &args.sizes);
    let budget = args.time() / u32::try_from(plan.cells.len().max(1)).unwrap_or(u32::MAX);
    let mut report = Report::new(&args.name, &rig, plan.left_out);
    let total = plan.cells.len();
    for (index, (op, size)) in plan.cells.into_iter().enumerate() {
        let (number, size_text) = (index + 1, units::bytes(size));
        progress.show(&format!("{number}/{total}  {} {size_text}", op.name()));
        let lane = Lane::there(&rig, op, size)?;
        lane.verify()?;
        // Two fifths for the latency, three for the bandwidth and what it is compared with.
        report.latency.push(latency::measure(&lane, budget * 2 / 5)?);
        report.bandwidth.push(bandwidth::measure(&lane, budget * 3 / 5)?);
        lane.sample()?;
    }
    rig.end()?;
    Ok(report.concluded())
}
