//! Reports of a run: for people, for TAP and for JUnit.

mod human;
mod junit;
mod tap;

pub use human::{human_line, human_summary};
pub use junit::junit;
pub use tap::tap;

use crate::runner::{Outcome, Verdict};

/// Number of cases by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Cases whose rule holds.
    pub passed: usize,
    /// Cases whose rule does not hold, or that hung.
    pub failed: usize,
    /// Cases that cannot run on this adapter.
    pub skipped: usize,
    /// Cases that the exclusion file leaves out.
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
