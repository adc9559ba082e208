//! Runs steps, one after the other, each only where what it needs is there.

use std::time::{Duration, Instant};

use dat_core::Failure;
use serde::Serialize;

use crate::fault::Fault;
use crate::output::{Output, Paint, clean};
use crate::units;

/// What a step needs or gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Adapter,
    Objects,
    Memory,
    Listener,
    Connection,
    Window,
}

/// How a step ended that did not fail.
#[derive(Debug)]
pub(super) enum Done {
    /// It did what it is for; with what there is to say of it.
    Passed(String),
    /// The adapter doesn't offer it, and why.
    LeftOut(String),
}

/// What steps work on.
pub(super) trait Subject {
    /// How long the making and checking of data took since this was asked last.
    fn take_checking(&self) -> Duration;

    /// The first operation that failed, if any did.
    fn failure(&self) -> Option<Failure>;
}

/// What a step does.
pub(super) type Act<S> = Box<dyn Fn(&mut S) -> Result<Done, Fault>>;

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

/// How a step went.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    step: String,
    verdict: Mark,
    #[serde(skip_serializing_if = "Option::is_none")]
    microseconds: Option<f64>,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<Fault>,
}

/// How many steps went how.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Summary {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
    pub(super) left_out: usize,
}

/// What a step did not give, and which step that is.
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
    /// Before the first step.
    pub(super) fn new(shown: bool) -> Self {
        Self { records: Vec::new(), lost: Vec::new(), shown, start: Instant::now() }
    }

    /// Runs a step, if what it needs is there.
    pub(super) fn step<S: Subject>(&mut self, step: Step<S>, subject: &mut S, output: &mut Output) {
        let record = match self.lost.iter().find(|lost| step.needs.contains(&lost.stage)) {
            Some(lost) => {
                let (mark, end) = match lost.mark {
                    Mark::LeftOut => (Mark::LeftOut, "was left out"),
                    _ => (Mark::Skipped, "failed"),
                };
                let root = (lost.step.clone(), mark);
                let detail = format!("since {:?} {end}", lost.step);
                self.lose(step.gives, root);
                Record { step: step.name, verdict: mark, microseconds: None, detail, fault: None }
            }
            None => self.try_step(step, subject),
        };
        if self.shown {
            record.print(output);
        }
        self.records.push(record);
    }

    fn try_step<S: Subject>(&mut self, step: Step<S>, subject: &mut S) -> Record {
        let start = Instant::now();
        let done = (step.act)(subject);
        let time = start.elapsed().saturating_sub(subject.take_checking());
        let (verdict, detail, fault) = match done {
            Ok(Done::Passed(detail)) => (Mark::Passed, detail, None),
            Ok(Done::LeftOut(detail)) => (Mark::LeftOut, detail, None),
            Err(fault) => {
                let fault = fault.caused_by(subject.failure());
                (Mark::Failed, String::new(), Some(fault))
            }
        };
        if verdict != Mark::Passed {
            self.lose(step.gives, (step.name.clone(), verdict));
        }
        // After anything but wrong data nobody knows what is still under way.
        let used = step.needs.contains(&Stage::Connection);
        if used && fault.as_ref().is_some_and(|fault| !fault.is_data()) {
            self.lose(Some(Stage::Connection), (step.name.clone(), verdict));
        }
        let microseconds = (verdict != Mark::LeftOut).then_some(time.as_secs_f64() * 1e6);
        Record { step: step.name, verdict, microseconds, detail, fault }
    }

    fn lose(&mut self, stage: Option<Stage>, (step, mark): (String, Mark)) {
        self.lost.extend(stage.map(|stage| Lost { stage, step, mark }));
    }

    /// What was recorded so far.
    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// The first step that failed, and why.
    pub(super) fn first_failure(&self) -> Option<(String, Fault)> {
        let failure = |record: &Record| Some((record.step.clone(), record.fault.clone()?));
        self.records.iter().find_map(failure)
    }

    /// How many steps went how.
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
        for (count, word) in [(failed, "failed"), (skipped, "skipped"), (left_out, "left out")] {
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
            Mark::LeftOut => (Paint::Quiet, "left out"),
        };
        let time = self.microseconds.map(|micros| Duration::from_secs_f64(micros / 1e6));
        let time = time.map_or_else(String::new, units::time);
        let word = output.paint(paint, format!("{word:<8}"));
        let line = format!("{:<21} {word} {time:>8}   {}", self.step, clean(&self.detail));
        output.line(line.trim_end());
        if let Some(fault) = &self.fault {
            fault.print("    ", output);
        }
    }
}
