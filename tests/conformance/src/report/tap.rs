//! The report in the Test Anything Protocol, version 13.

use crate::runner::{Outcome, Verdict};

/// The run as TAP.
#[must_use]
pub fn tap(verdicts: &[Verdict]) -> String {
    let mut text = format!("TAP version 13\n1..{}\n", verdicts.len());
    for (index, verdict) in verdicts.iter().enumerate() {
        let (number, name) = (index + 1, verdict.case.short_name());
        match &verdict.outcome {
            Outcome::Passed => text += &format!("ok {number} - {name}\n"),
            Outcome::Skipped(why) | Outcome::Excluded(why) => {
                text += &format!("ok {number} - {name} # SKIP {}\n", one_line(why));
            }
            Outcome::Failed(why) | Outcome::Hung(why) => {
                text += &format!("not ok {number} - {name}\n  ---\n");
                text +=
                    &format!("  source: {:?}\n  message: {why:?}\n  ...\n", verdict.case.source);
            }
        }
    }
    text
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '#'], " ")
}
