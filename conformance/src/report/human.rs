//! The report for people.

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

/// The summary: failed cases, then the totals.
#[must_use]
pub fn human_summary(verdicts: &[Verdict]) -> String {
    let totals = Totals::of(verdicts);
    let mut text = String::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.outcome.is_failure()) {
        text += &format!("failed: {} ({})\n", verdict.case.short_name(), verdict.case.source);
    }
    let Totals { passed, failed, skipped, excluded } = totals;
    text + &format!("{passed} passed, {failed} failed, {} skipped", skipped + excluded)
}
