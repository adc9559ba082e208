//! Reports of a run: for people, for TAP and for JUnit.

mod human;
mod junit;
mod tap;

pub use human::{human_line, human_summary};
pub use junit::junit;
pub use tap::tap;

use crate::runner::{Outcome, Verdict};

/// How many cases ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The rule holds.
    pub passed: usize,
    /// It does not, or the case hung.
    pub failed: usize,
    /// Not tried on this adapter.
    pub skipped: usize,
    /// Left out by the exclusion file.
    pub excluded: usize,
}

impl Totals {
    /// Counts verdicts.
    #[must_use]
    pub fn of(verdicts: &[Verdict]) -> Self {
        let mut totals = Self::default();
        for verdict in verdicts {
            match verdict.outcome {
                Outcome::Passed => totals.passed += 1,
                Outcome::Failed(_) | Outcome::Hung(_) => totals.failed += 1,
                Outcome::Skipped(_) => totals.skipped += 1,
                Outcome::Excluded(_) => totals.excluded += 1,
            }
        }
        totals
    }
}
