//! `dat perf`: the latency and bandwidth of transfers.

mod arrival;
mod bandwidth;
mod buffers;
mod curves;
mod fixture;
mod latency;
mod memcpy;
mod op;
mod plan;
pub(crate) mod remote;
mod report;
mod svg;
mod write_latency;

use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dat_core::Registry;
use serde_json::json;

use crate::error::CliError;
use crate::output::{Output, complain, progress_bar};
use crate::report_file::ReportFile;
use crate::verdict::{EXIT_CODES, Verdict};
use crate::{interrupt, providers, units};
use bandwidth::Bandwidth;
use buffers::Buffers;
use fixture::Fixture;
use latency::Latency;
pub(crate) use op::Op;
use plan::Plan;
use remote::{Call, Place};
use report::Report;

/// Measures latency and bandwidth between two endpoints of an adapter, or to another process or
/// machine.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat perf loopback
  dat perf loopback --quick
  dat perf loopback --sizes 64,1M --op send,write
  dat perf tcp-lo --op write_lat
  dat perf loopback --seconds 60 --plot loopback.svg
  dat perf 'loopback?max_message_size=65536' --json
  dat perf tcp-lo --listen            in one process, or on one machine; then
  dat perf tcp-lo 127.0.0.1           in another, with the address that the first printed

Without HOST and --listen both ends of the connection are in this process. With --listen the
command serves one client after another. Ctrl-C prints what was measured so far; a second one
ends the command at once.

Method (one polling thread, with --listen and for write_lat one on each side):
  latency    For a send: half of a round trip between the two endpoints, including
             reposting the receives. For an RDMA write or read: from the post to its
             completion. Transfers are timed in batches of up to 64, so that reading the
             clock takes at most 2 % of the time. A value is the mean of its batch, so
             larger batches smooth the highest values. Percentiles are over batches.
             write_lat (as ib_write_lat of perftest): half of a round trip of RDMA writes, by
             one thread on each side; each side spins until its write is complete, and then
             on the memory that the peer writes, without a call. Each round trip is timed by
             itself, so P99 is that of single round trips, halved.
  bandwidth  WINDOW transfers in flight, each with its own buffer; the median of five
             rounds. MEMCPY is a copy of blocks of the same size through as much memory,
             measured between the rounds.
  The command that listens sends messages back (latency) or takes them (bandwidth), and
  answers the writes of write_lat; other RDMA operations need nothing from it.
1 GB is 10^9 bytes; KiB and MiB are 2^10 and 2^20. Before each measurement all buffers are
verified against a pattern, and samples of them afterwards (between processes, all). Sizes above the limits of the
adapter are skipped.

{EXIT_CODES}"))]
#[command(group(clap::ArgGroup::new("peer").args(["host", "listen"])))]
pub(crate) struct Args {
    /// The name of the adapter, as `dat list` shows it
    #[arg(value_name = "IA")]
    name: String,
    /// Name or address of the other machine, where `dat perf IA --listen` runs
    #[arg(conflicts_with_all = ["listen", "clients"])]
    host: Option<String>,
    /// Serves clients in other processes or on other machines
    #[arg(long, conflicts_with_all = ["sizes", "op", "seconds", "quick", "plot"])]
    listen: bool,
    /// Connection qualifier (a port number on most transports) to listen on or connect to
    #[arg(long, value_name = "PORT", default_value_t = 7177, requires = "peer")]
    port: u64,
    /// With --listen: exits after this number of clients
    #[arg(long, value_name = "COUNT", requires = "listen")]
    clients: Option<NonZeroU64>,
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
pub(crate) fn run(args: &Args, registry: &Registry, output: &mut Output) -> Verdict {
    if (args.listen || args.host.is_some()) && providers::stays_in_process(registry, &args.name) {
        return failed(args, &CliError::unreachable(&args.name), output);
    }
    let place = Place { name: &args.name, port: args.port, timeout: args.timeout };
    if args.listen {
        return listen(args, registry, place, output);
    }
    let plot = match args.plot.as_deref().map(ReportFile::open).transpose() {
        Ok(plot) => plot,
        Err(error) => return not_plotted(args, &error),
    };
    interrupt::watch();
    let wanted = Wanted { ops: &args.op, sizes: &args.sizes, time: args.time() };
    let report = match &args.host {
        Some(host) => remote::measure(registry, place, host, &wanted),
        None => measure(args, registry, &wanted),
    };
    let report = match report {
        Ok(report) => report,
        Err(error) => return failed(args, &error, output),
    };
    if args.json {
        output.json(&report);
    } else {
        report.print(output);
    }
    if report.interrupted {
        complain("interrupted: not everything was measured");
    }
    if let Err(error) = plot.map_or(Ok(()), |plot| plot.write(&curves::svg(&report))) {
        return not_plotted(args, &error);
    }
    if report.latency.is_empty() || report.interrupted {
        return Verdict::Failed;
    }
    Verdict::Passed
}

fn not_plotted(args: &Args, error: &io::Error) -> Verdict {
    let file = args.plot.as_deref().unwrap_or(Path::new("the plot"));
    complain(&format!("cannot write {}: {error}", file.display()));
    Verdict::Failed
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

/// Serves clients.
fn listen(args: &Args, registry: &Registry, place: Place<'_>, output: &mut Output) -> Verdict {
    let (mut left, mut well) = (args.clients.map(NonZeroU64::get), true);
    let served = remote::listen(registry, place, |event| {
        match event {
            remote::Served::Listening(line) if !args.json => output.line(line),
            remote::Served::Listening(_) => {}
            remote::Served::Client(call) => {
                if args.json {
                    output.json(call);
                } else {
                    Call::print(call, output);
                }
                well &= call.is_well();
                left = left.map(|left| left - 1);
            }
        }
        left != Some(0)
    });
    match served {
        Ok(()) if well => Verdict::Passed,
        Ok(()) => Verdict::Failed,
        Err(error) => failed(args, &error, output),
    }
}

/// The measurements that the user wants.
struct Wanted<'a> {
    ops: &'a [Op],
    sizes: &'a [u64],
    /// For all of them.
    time: Duration,
}

impl Wanted<'_> {
    /// Makes the measurements of a plan, until Ctrl-C. What it interrupts is left out.
    fn each(
        &self,
        plan: &Plan,
        report: &mut Report,
        mut measure: impl FnMut(Op, u64, Duration) -> Result<(Latency, Option<Bandwidth>), CliError>,
    ) -> Result<(), CliError> {
        let count = plan.cells.len();
        let budget = self.time / u32::try_from(count.max(1)).unwrap_or(u32::MAX);
        let progress = progress_bar(count as u64);
        for &(op, size) in &plan.cells {
            progress.inc(1);
            progress.set_message(format!("{} {}", op.name(), units::bytes(size)));
            let (latency, bandwidth) = measure(op, size, budget)?;
            if interrupt::is_requested() {
                report.interrupted = true;
                break;
            }
            report.latency.push(latency);
            report.bandwidth.extend(bandwidth);
        }
        progress.finish_and_clear();
        Ok(())
    }
}

/// The parts of a budget for the latency, and for the bandwidth and what it is compared with.
fn split(op: Op, budget: Duration) -> (Duration, Option<Duration>) {
    if op.has_bandwidth() { (budget * 2 / 5, Some(budget * 3 / 5)) } else { (budget, None) }
}

fn measure(args: &Args, registry: &Registry, wanted: &Wanted<'_>) -> Result<Report, CliError> {
    let fixture = Fixture::new(registry.open(&args.name)?, args.timeout)?;
    let plan = Plan::new(&fixture, wanted.ops, wanted.sizes);
    let mut report = Report::new(&args.name, fixture.ia.provider_attributes(), &plan);
    wanted.each(&plan, &mut report, |op, size, budget| {
        let buffers = Buffers::there(&fixture, op, size)?;
        buffers.verify()?;
        let (for_latency, rest) = split(op, budget);
        let latency = latency::measure(&buffers, for_latency)?;
        let bandwidth = rest.map(|rest| bandwidth::measure(&buffers, rest)).transpose()?;
        buffers.sample()?;
        Ok((latency, bandwidth))
    })?;
    fixture.end()?;
    Ok(report.concluded())
}
