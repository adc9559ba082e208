//! Measures loopback against a floor: the time that the same work takes without any library.
//!
//! `make bench-floor`, or `cargo run --release -p dat-floor -- --plot docs/floor.svg`.

mod alone;
mod bars;
mod bench;
mod bulk;
mod connect;
mod crossing;
mod report;
mod scale;
mod skeleton;
mod threads;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use dat_cli::error::CliError;
use dat_cli::output::{Output, complain, progress_bar};
use dat_cli::perf::fixture::Fixture;
use dat_cli::units;

use bench::{Bench, ROUNDS};
use report::{Report, Row};

/// Measures an adapter against a floor: the time that the same work takes without any library.
#[derive(Debug, Parser)]
struct Args {
    /// The name of the adapter
    #[arg(value_name = "IA", default_value = "loopback")]
    name: String,
    /// Rows to measure (default: all)
    #[arg(long, value_name = "GROUPS", value_delimiter = ',', value_enum)]
    rows: Vec<Group>,
    /// Total time of all measurements
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = units::parse_seconds)]
    seconds: Duration,
    /// Timeout of each wait
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = units::parse_seconds)]
    timeout: Duration,
    /// Writes a bar chart of the multiples of the floor
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let mut output = Output::stdout();
    let result = run(&args, &mut output);
    let finished = output.finish().map_err(|error| error.to_string());
    match result.and(finished) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            complain(&reason);
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args, output: &mut Output) -> Result<(), String> {
    let groups = if args.rows.is_empty() { Group::value_variants() } else { &args.rows };
    let report = measure(&args.name, groups, args.seconds, args.timeout);
    let report = report.map_err(|error| format!("cannot measure {}: {}", args.name, error))?;
    if args.json {
        output.json(&report);
    } else {
        report.print(output);
    }
    match &args.plot {
        Some(file) => std::fs::write(file, bars::svg(&report))
            .map_err(|error| format!("cannot write {}: {error}", file.display())),
        None => Ok(()),
    }
}

/// Rows that are measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Group {
    /// Memory of idle endpoints. Runs first, before freed memory can be reused
    Idle,
    /// One thread that posts and polls
    Alone,
    /// Two threads that poll for each other's messages
    Polling,
    /// Two threads that sleep until a message arrives
    Blocking,
    /// Messages in one direction, from one thread to another
    OneWay,
    /// Two threads on endpoints of their own
    Apart,
    /// Transfers of 4 KiB to 1 MiB
    Bulk,
    /// Many endpoints, many regions
    Scale,
    /// Connections that are set up and torn down
    Connect,
}

impl Group {
    fn title(self) -> &'static str {
        match self {
            Self::Idle => "idle endpoints",
            Self::Alone => "one thread",
            Self::Polling => "two threads that poll",
            Self::Blocking => "two threads that sleep",
            Self::OneWay => "one way",
            Self::Apart => "two threads apart",
            Self::Bulk => "large transfers",
            Self::Scale => "many objects",
            Self::Connect => "connections",
        }
    }

    /// Its share of the total time.
    fn shares(self) -> u32 {
        match self {
            Self::Idle => 0,
            Self::Alone => 10,
            Self::Polling => 3,
            Self::OneWay => 4,
            Self::Blocking => 6,
            Self::Apart => 2,
            Self::Bulk => 14,
            Self::Scale => 13,
            Self::Connect => 1,
        }
    }

    fn measure(self, bench: &Bench<'_>, rows: &mut Vec<Row>) -> Result<(), CliError> {
        match self {
            Self::Idle => scale::idle(bench, rows),
            Self::Alone => alone::rows(bench, rows),
            Self::Polling => threads::polling(bench, rows),
            Self::Blocking => threads::blocking(bench, rows),
            Self::OneWay => threads::one_way(bench, rows),
            Self::Apart => threads::apart(bench, rows),
            Self::Bulk => bulk::rows(bench, rows),
            Self::Scale => scale::rows(bench, rows),
            Self::Connect => connect::rows(bench, rows),
        }
    }
}

/// Measures every row that the adapter supports.
fn measure(
    name: &str,
    groups: &[Group],
    seconds: Duration,
    timeout: Duration,
) -> Result<Report, CliError> {
    let shares: u32 = groups.iter().map(|group| group.shares()).sum();
    let round = seconds / (shares.max(1) * ROUNDS as u32);
    let bench = Bench { name, timeout, round };
    let mut rows = Vec::new();
    let progress = progress_bar(groups.len() as u64);
    for group in groups {
        progress.inc(1);
        progress.set_message(group.title());
        group.measure(&bench, &mut rows)?;
    }
    progress.finish_and_clear();
    let fixture = Fixture::new(name, timeout)?;
    let report = Report::new(name, &fixture, rows);
    fixture.end()?;
    Ok(report)
}
