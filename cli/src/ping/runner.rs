//! Runs steps in order, each only if its requirements are met.

use std::time::{Duration, Instant};

use dat_core::Failure;
use serde::Serialize;

use crate::error::CliError;
use crate::output::{Output, Paint, clean};
use crate::units;

/// A condition that a step requires or establishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Adapter,
    Objects,
    Memory,
    Listener,
    Connection,
    RmrSteps,
}

/// The outcome of a step that did not fail.
#[derive(Debug)]
pub(super) enum Done {
    /// It passed, with a remark.
    Passed(String),
    /// The adapter does not support it, with the reason.
    LeftOut(String),
}

/// The state that steps work on.
pub(super) trait Subject {
    /// The time spent on creating and checking data since the last call.
    fn take_checking(&self) -> Duration;

    /// The first failed operation, if there is one.
    fn failure(&self) -> Option<Failure>;
}

/// The function of a step.
pub(super) type Act<S> = Box<dyn Fn(&mut S) -> Result<Done, CliError>>;

/// A step to run.
pub(super) struct Step<S> {
    pub(super) name: String,
    pub(super) needs: &'static [Stage],
    pub(super) gives: Option<Stage>,
    pub(super) act: Act<S>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Mark {
    Passed,
    Failed,
    Skipped,
    LeftOut,
}

/// The record of a step.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    step: String,
    verdict: Mark,
    #[serde(skip_serializing_if = "Option::is_none")]
    microseconds: Option<f64>,
    detail: String,
    #[serde(rename = "fault", skip_serializing_if = "Option::is_none")]
    error: Option<CliError>,
}

/// The number of steps by outcome.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Summary {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
    pub(super) left_out: usize,
}

/// A condition that was not established, and the step that should have.
struct Lost {
    stage: Stage,
    step: String,
    mark: Mark,
}

/// The state of a run.
pub(super) struct Runner {
    records: Vec<Record>,
    lost: Vec<Lost>,
    shown: bool,
    start: Instant,
}

impl Runner {
    /// The state before the first step.
    pub(super) fn new(shown: bool) -> Self {
        Self { records: Vec::new(), lost: Vec::new(), shown, start: Instant::now() }
    }

    /// Runs a step if its requirements are met.
    pub(super) fn step<S: Subject>(&mut self, step: Step<S>, subject: &mut S, output: &mut Output) {
        // Without an adapter no step can run, and the summary counts those that did not.
        let shown = self.shown && self.lost.iter().all(|lost| lost.stage != Stage::Adapter);
        let record = match self.lost.iter().find(|lost| step.needs.contains(&lost.stage)) {
            Some(lost) => {
                let (mark, end) = match lost.mark {
                    Mark::LeftOut => (Mark::LeftOut, "was skipped"),
                    _ => (Mark::Skipped, "failed"),
                };
                let root = (lost.step.clone(), mark);
                let detail = format!("because {:?} {end}", lost.step);
                self.lose(step.gives, root);
                Record { step: step.name, verdict: mark, microseconds: None, detail, error: None }
            }
            None => self.try_step(step, subject),
        };
        if shown {
            record.print(output);
        }
        self.records.push(record);
    }

    fn try_step<S: Subject>(&mut self, step: Step<S>, subject: &mut S) -> Record {
        let start = Instant::now();
        let done = (step.act)(subject);
        let time = start.elapsed().saturating_sub(subject.take_checking());
        let (verdict, detail, error) = match done {
            Ok(Done::Passed(detail)) => (Mark::Passed, detail, None),
            Ok(Done::LeftOut(detail)) => (Mark::LeftOut, detail, None),
            Err(error) => {
                let error = error.caused_by(subject.failure());
                (Mark::Failed, String::new(), Some(error))
            }
        };
        if verdict != Mark::Passed {
            self.lose(step.gives, (step.name.clone(), verdict));
        }
        // After any failure except wrong data, operations may still be in flight.
        let used = step.needs.contains(&Stage::Connection);
        if used && error.as_ref().is_some_and(|error| !error.is_data()) {
            self.lose(Some(Stage::Connection), (step.name.clone(), verdict));
        }
        let microseconds = (verdict != Mark::LeftOut).then_some(time.as_secs_f64() * 1e6);
        Record { step: step.name, verdict, microseconds, detail, error }
    }

    fn lose(&mut self, stage: Option<Stage>, (step, mark): (String, Mark)) {
        self.lost.extend(stage.map(|stage| Lost { stage, step, mark }));
    }

    /// The records so far.
    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// The first failed step, and the reason.
    pub(super) fn first_failure(&self) -> Option<(String, CliError)> {
        let failure = |record: &Record| Some((record.step.clone(), record.error.clone()?));
        self.records.iter().find_map(failure)
    }

    /// The number of steps by outcome.
    pub(super) fn summary(&self) -> Summary {
        let count = |mark| self.records.iter().filter(|record| record.verdict == mark).count();
        Summary {
            passed: count(Mark::Passed),
            failed: count(Mark::Failed),
            skipped: count(Mark::Skipped),
            left_out: count(Mark::LeftOut),
        }
    }

    /// Prints the last line.
    pub(super) fn print_summary(&self, output: &mut Output) {
        let Summary { passed, failed, skipped, left_out } = self.summary();
        let mut words = vec![format!("{passed} steps passed")];
        for (count, word) in [(failed, "failed"), (skipped, "skipped"), (left_out, "skipped")] {
            if count > 0 {
                words.push(format!("{count} {word}"));
            }
        }
        let paint = if failed == 0 { Paint::Good } else { Paint::Bad };
        let time = units::time(self.start.elapsed());
        output.line("");
        output.line(format!("{} in {time}", output.paint(paint, words.join(", "))));
    }
}

impl Record {
    fn print(&self, output: &mut Output) {
        let (paint, word) = match self.verdict {
            Mark::Passed => (Paint::Good, "ok"),
            Mark::Failed => (Paint::Bad, "FAILED"),
            Mark::Skipped => (Paint::Quiet, "skipped"),
            Mark::LeftOut => (Paint::Quiet, "skipped"),
        };
        let time = self.microseconds.map(|micros| Duration::from_secs_f64(micros / 1e6));
        let time = time.map_or_else(String::new, units::time);
        let word = output.paint(paint, format!("{word:<8}"));
        let line = format!("{:<22} {word} {time:>8}   {}", self.step, clean(&self.detail));
        output.line(line.trim_end());
        if let Some(error) = &self.error {
            error.print("    ", output);
        }
    }
}
