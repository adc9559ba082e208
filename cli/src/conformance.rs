//! `dat conformance`: tests an adapter against every rule of the specification.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use dat_conformance::exclude::BadLine;
use dat_conformance::report::{Totals, human_line, human_summary, junit, tap};
use dat_conformance::{Case, Exclusions, Outcome, Plan, Target, all, set_target};
use dat_core::Registry;

use crate::output::{Output, Paint, complain};
use crate::report_file::ReportFile;
use crate::{EXIT_CODES, Verdict, interrupt};

/// Tests an adapter against every rule of the DAT specification.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat conformance loopback
  dat conformance loopback ep_create:: srq    only cases whose path or rule starts with these
  dat conformance loopback --list             all cases, with the manual page of each rule
  dat conformance mine --exclude mine.txt --junit report.xml
  dat conformance loopback --quiet            only failures and the summary

An exclusion file has one line for each case that the provider cannot pass: a pattern, in
which * matches anything, and the reason. Excluded and skipped cases are counted and shown.

{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The name of the adapter, as `dat list` shows it
    #[arg(value_name = "IA")]
    name: String,
    /// Only cases whose path (`noun::rule`) or rule starts with one of these
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Lists the cases instead of running them
    #[arg(long)]
    list: bool,
    /// File with the cases to exclude, and the reasons
    #[arg(long, value_name = "FILE")]
    exclude: Option<PathBuf>,
    /// Prints the Test Anything Protocol
    #[arg(long, conflicts_with = "list")]
    tap: bool,
    /// Prints JSON: the totals and each case with its outcome and time
    #[arg(long, conflicts_with_all = ["list", "tap", "quiet"])]
    json: bool,
    /// Prints only failures and the summary
    #[arg(long, short, conflicts_with_all = ["list", "tap"])]
    quiet: bool,
    /// Writes a JUnit report
    #[arg(long, value_name = "FILE.xml", conflicts_with = "list")]
    junit: Option<PathBuf>,
    /// Timeout of each case
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Repetitions of cases that race, in percent: fewer for an emulated device, more for a search
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rounds: u32,
}

/// Runs the command.
pub(crate) fn run(args: &Args, registry: &Registry, output: &mut Output) -> Verdict {
    match try_run(args, registry, output) {
        Ok(verdict) => verdict,
        Err(error) => {
            complain(&error.to_string());
            Verdict::Failed
        }
    }
}

/// Why the suite cannot run or be reported.
#[derive(Debug, thiserror::Error)]
enum SuiteError {
    #[error("no case has a path or a rule that starts with {0:?}; --list shows all cases")]
    NoCase(String),
    #[error(transparent)]
    Open(#[from] dat_core::Error),
    #[error("cannot read {file}: {source}", file = file.display())]
    Read { file: PathBuf, source: io::Error },
    #[error("{file}: {reason}", file = file.display())]
    Exclusion { file: PathBuf, reason: BadLine },
    #[error("cannot write {file}: {source}", file = file.display())]
    Write { file: PathBuf, source: io::Error },
}

/// A run as JSON.
#[derive(serde::Serialize)]
struct Report<'a> {
    adapter: &'a str,
    passed: usize,
    failed: usize,
    skipped: usize,
    excluded: usize,
    /// Cases that Ctrl-C kept from running.
    missing: usize,
    cases: Vec<CaseReport<'a>>,
}

#[derive(serde::Serialize)]
struct CaseReport<'a> {
    name: &'a str,
    source: &'a str,
    outcome: &'static str,
    /// Why the case failed, was skipped or was excluded.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    seconds: f64,
}

impl<'a> Report<'a> {
    fn new(adapter: &'a str, verdicts: &'a [dat_conformance::Verdict], missing: usize) -> Self {
        let Totals { passed, failed, skipped, excluded } = Totals::of(verdicts);
        let cases = verdicts.iter().map(|verdict| {
            let (outcome, reason) = match &verdict.outcome {
                Outcome::Passed => ("passed", None),
                Outcome::Failed(why) => ("failed", Some(why.as_str())),
                Outcome::Hung(why) => ("hung", Some(why.as_str())),
                Outcome::Skipped(why) => ("skipped", Some(why.as_str())),
                Outcome::Excluded(why) => ("excluded", Some(why.as_str())),
            };
            let (name, source) = (verdict.case.short_name(), verdict.case.source);
            CaseReport { name, source, outcome, reason, seconds: verdict.time.as_secs_f64() }
        });
        Self { adapter, passed, failed, skipped, excluded, missing, cases: cases.collect() }
    }
}

fn try_run(args: &Args, registry: &Registry, output: &mut Output) -> Result<Verdict, SuiteError> {
    let cases = all();
    let plan = Plan {
        filters: args.filters.clone(),
        exclusions: exclusions(args, &cases)?,
        limit: Duration::from_secs(args.timeout),
    };
    for filter in &args.filters {
        let plan = Plan { filters: vec![filter.clone()], ..Plan::default() };
        if !cases.iter().any(|case| plan.selects(case)) {
            return Err(SuiteError::NoCase(filter.clone()));
        }
    }
    let selected = cases.iter().filter(|case| plan.selects(case)).count();
    if args.list {
        for case in cases.iter().filter(|case| plan.selects(case)) {
            output.line(format!("{}  ({})", case.short_name(), case.source));
        }
        return Ok(Verdict::Passed);
    }
    let report = args.junit.as_ref().map(|file| {
        let report = ReportFile::open(file);
        report.map_err(|source| SuiteError::Write { file: file.clone(), source })
    });
    let report = report.transpose()?;
    // An adapter that cannot be opened is one failure, not one per case.
    drop(registry.open(&args.name)?);
    set_target(Target {
        rounds_percent: args.rounds,
        ..Target::new(registry.clone(), args.name.clone())
    });
    interrupt::watch();
    let verdicts = plan.run_until(interrupt::is_requested, &cases, |verdict| {
        let is_shown = !args.quiet || verdict.outcome.is_failure();
        if args.tap || args.json || !is_shown {
            return;
        }
        let paint = match verdict.outcome {
            Outcome::Passed => Paint::Good,
            Outcome::Failed(_) | Outcome::Hung(_) => Paint::Bad,
            Outcome::Skipped(_) | Outcome::Excluded(_) => Paint::Quiet,
        };
        let line = output.paint(paint, human_line(verdict));
        output.line(line);
    });
    let missing = selected - verdicts.len();
    if args.tap {
        output.line(tap(&verdicts).trim_end());
        if missing > 0 {
            output.line("Bail out! interrupted");
        }
    } else if args.json {
        output.json(&Report::new(&args.name, &verdicts, missing));
    } else {
        let gap = if args.quiet { "" } else { "\n" };
        output.line(format!("{gap}{}", human_summary(&verdicts)));
    }
    if let (Some(file), Some(report)) = (&args.junit, report) {
        report
            .write(&junit(&args.name, &verdicts))
            .map_err(|source| SuiteError::Write { file: file.clone(), source })?;
    }
    if missing > 0 {
        complain(&format!("interrupted: {missing} cases did not run"));
    }
    let failed = Totals::of(&verdicts).failed > 0 || missing > 0;
    Ok(if failed { Verdict::Failed } else { Verdict::Passed })
}

fn exclusions(args: &Args, cases: &[Case]) -> Result<Exclusions, SuiteError> {
    let Some(file) = &args.exclude else { return Ok(Exclusions::default()) };
    let text = std::fs::read_to_string(file)
        .map_err(|source| SuiteError::Read { file: file.clone(), source })?;
    let exclusions = Exclusions::parse(&text)
        .map_err(|reason| SuiteError::Exclusion { file: file.clone(), reason })?;
    let names: Vec<&str> = cases.iter().map(Case::short_name).collect();
    for pattern in exclusions.unused(&names) {
        complain(&format!("{}: {pattern} does not match any case", file.display()));
    }
    Ok(exclusions)
}
