//! The report for people.

use std::cmp::Reverse;
use std::time::Duration;

use super::Totals;
use crate::runner::{Outcome, Verdict};

/// The line of a verdict, with the message of a failure below it.
#[must_use]
pub fn human_line(verdict: &Verdict) -> String {
    let name = verdict.case.short_name();
    let millis = verdict.time.as_secs_f64() * 1e3;
    match &verdict.outcome {
        Outcome::Passed => format!("passed    {name} ({millis:.1} ms)"),
        Outcome::Failed(why) => {
            format!("FAILED    {name}, a rule of {}\n{}", verdict.case.source, indent(why))
        }
        Outcome::Hung(why) => {
            format!("HUNG      {name}, a rule of {}\n{}", verdict.case.source, indent(why))
        }
        Outcome::Skipped(why) => format!("skipped   {name}: {why}"),
        Outcome::Excluded(why) => format!("excluded  {name}: {why}"),
    }
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("          {line}")).collect::<Vec<_>>().join("\n")
}

/// Maximum number of slow cases in the summary.
const SLOWEST: usize = 5;
/// Cases that ran for less time are not listed as slow.
const SLOW: Duration = Duration::from_millis(500);

/// The summary: the slowest cases, the slowest first, failed cases, then the totals.
#[must_use]
pub fn human_summary(verdicts: &[Verdict]) -> String {
    let totals = Totals::of(verdicts);
    let mut text = String::new();
    let mut slow: Vec<&Verdict> = verdicts.iter().filter(|verdict| verdict.time >= SLOW).collect();
    slow.sort_by_key(|verdict| Reverse(verdict.time));
    for verdict in slow.iter().take(SLOWEST) {
        text +=
            &format!("slow: {} ({:.1} s)\n", verdict.case.short_name(), verdict.time.as_secs_f64());
    }
    for verdict in verdicts.iter().filter(|verdict| verdict.outcome.is_failure()) {
        text += &format!("failed: {} ({})\n", verdict.case.short_name(), verdict.case.source);
    }
    let Totals { passed, failed, skipped, excluded } = totals;
    text + &format!("{passed} passed, {failed} failed, {} skipped", skipped + excluded)
}
