//! `dat conformance`: every rule of the documents, tried on an adapter.

use std::path::PathBuf;
use std::time::Duration;

use dat_conformance::report::{Totals, human_line, human_summary, junit, tap};
use dat_conformance::{Case, Exclusions, Outcome, Plan, Target, all, set_target};

use crate::output::{Output, Paint, complain};
use crate::{EXIT_CODES, Verdict, providers};

/// Tries every rule of the documents on an adapter.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat conformance loopback
  dat conformance loopback ep_create srq      only cases whose names contain these
  dat conformance loopback --list             what there is, and where each rule stands
  dat conformance mine --exclude mine.txt --junit report.xml

An exclusion file has a line for each case that the provider can't pass: a pattern, in which *
stands for anything, and the reason. What is excluded or skipped is counted and shown.

{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The name of the adapter, as `dat list` shows it
    #[arg(value_name = "IA")]
    name: String,
    /// Only cases whose names contain one of these
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Lists the cases instead of running them
    #[arg(long)]
    list: bool,
    /// Cases to leave out, with reasons
    #[arg(long, value_name = "FILE")]
    exclude: Option<PathBuf>,
    /// Prints the Test Anything Protocol
    #[arg(long, conflicts_with = "list")]
    tap: bool,
    /// Writes a JUnit report
    #[arg(long, value_name = "FILE.xml", conflicts_with = "list")]
    junit: Option<PathBuf>,
    /// How long a case may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
}

/// Does what the command is for.
pub(crate) fn run(args: &Args, output: &mut Output) -> Verdict {
    match try_run(args, output) {
        Ok(verdict) => verdict,
        Err(text) => {
            complain(&text);
            Verdict::Failed
        }
    }
}

fn try_run(args: &Args, output: &mut Output) -> Result<Verdict, String> {
    let cases = all();
    let plan = Plan {
        filters: args.filters.clone(),
        exclusions: exclusions(args, &cases)?,
        limit: Duration::from_secs(args.timeout),
    };
    let selected = cases.iter().filter(|case| plan.selects(case)).count();
    if selected == 0 {
        return Err("no case has a name that contains one of the filters".to_owned());
    }
    if args.list {
        for case in cases.iter().filter(|case| plan.selects(case)) {
            output.line(format!("{}  ({})", case.short_name(), case.source));
        }
        return Ok(Verdict::Well);
    }
    // An adapter that can't be opened is one failure, and not one for each case.
    drop(providers::open(&args.name).map_err(|error| error.to_string())?);
    set_target(Target { registry: providers::registry(), name: args.name.clone() });
    let verdicts = plan.run(&cases, |verdict| {
        if args.tap {
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
    if args.tap {
        output.line(tap(&verdicts).trim_end());
    } else {
        output.line(format!("\n{}", human_summary(&verdicts)));
    }
    if let Some(file) = &args.junit {
        std::fs::write(file, junit(&args.name, &verdicts))
            .map_err(|error| format!("{} can't be written: {error}", file.display()))?;
    }
    let failed = Totals::of(&verdicts).failed > 0;
    Ok(if failed { Verdict::Failed } else { Verdict::Well })
}

fn exclusions(args: &Args, cases: &[Case]) -> Result<Exclusions, String> {
    let Some(file) = &args.exclude else { return Ok(Exclusions::default()) };
    let place = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| format!("{place}: {error}"))?;
    let exclusions = Exclusions::parse(&text).map_err(|line| format!("{place}: {line}"))?;
    let names: Vec<&str> = cases.iter().map(Case::short_name).collect();
    for pattern in exclusions.unused(&names) {
        complain(&format!("{place}: {pattern} matches no case any more"));
    }
    Ok(exclusions)
}
