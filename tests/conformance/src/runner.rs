//! Runs cases, each in a thread of its own, and never waits for ever.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use crate::case::{Case, Skipped};
use crate::exclude::Exclusions;

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The rule holds.
    Passed,
    /// It does not; what the case found.
    Failed(String),
    /// The case did not end in time; what it did last, as far as known.
    Hung(String),
    /// The case can't be tried on this adapter.
    Skipped(String),
    /// The exclusion file names the case, for a reason.
    Excluded(String),
}

impl Outcome {
    /// Whether it counts as a failure.
    #[must_use]
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Hung(_))
    }
}

/// A case that was run.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Which.
    pub case: Case,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub time: Duration,
}

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Only cases whose names contain one of these; all when empty.
    pub filters: Vec<String>,
    /// Cases left out, with reasons.
    pub exclusions: Exclusions,
    /// How long a case may take.
    pub limit: Duration,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            filters: Vec::new(),
            exclusions: Exclusions::default(),
            limit: Duration::from_secs(60),
        }
    }
}

impl Plan {
    /// Whether a case is to be looked at.
    #[must_use]
    pub fn selects(&self, case: &Case) -> bool {
        let name = case.short_name();
        self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter.as_str()))
    }

    /// Runs the selected cases one after the other and tells each verdict as it comes.
    pub fn run(&self, cases: &[Case], mut tell: impl FnMut(&Verdict)) -> Vec<Verdict> {
        quiet_panics();
        let selected = cases.iter().filter(|case| self.selects(case));
        selected
            .map(|case| {
                let start = Instant::now();
                let outcome = match self.exclusions.reason(case.short_name()) {
                    Some(reason) => Outcome::Excluded(reason.to_owned()),
                    None => run_bounded(case, self.limit),
                };
                let verdict = Verdict { case: *case, outcome, time: start.elapsed() };
                tell(&verdict);
                verdict
            })
            .collect()
    }
}

/// Runs a case in a thread; one that hangs is left behind.
fn run_bounded(case: &Case, limit: Duration) -> Outcome {
    let (done, wait) = channel();
    let run = case.run;
    let name = case.short_name().to_owned();
    let thread = std::thread::Builder::new().name(name).spawn(move || {
        LAST.with(|last| *last.borrow_mut() = Some(Arc::default()));
        let result = panic::catch_unwind(AssertUnwindSafe(run));
        let _ = done.send(result.err().map(|payload| explain(&*payload)));
    });
    if let Err(error) = thread {
        return Outcome::Failed(format!("no thread for the case: {error}"));
    }
    match wait.recv_timeout(limit) {
        Ok(None) => Outcome::Passed,
        Ok(Some(outcome)) => outcome,
        Err(RecvTimeoutError::Timeout) => {
            Outcome::Hung(format!("no end after {} s\n{}", limit.as_secs(), threads()))
        }
        Err(RecvTimeoutError::Disconnected) => Outcome::Failed("the case vanished".to_owned()),
    }
}

thread_local! {
    /// What the last panic of this thread said, with its place.
    static LAST: RefCell<Option<Arc<parking_lot::Mutex<String>>>> = const { RefCell::new(None) };
}

/// Keeps the panics of cases from the terminal: they are part of the verdicts.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let kept = LAST.with(|last| last.borrow().clone());
            match kept {
                Some(text) => *text.lock() = info.to_string(),
                None => before(info),
            }
        }));
    });
}

fn explain(payload: &(dyn Any + Send)) -> Outcome {
    if let Some(Skipped(reason)) = payload.downcast_ref::<Skipped>() {
        return Outcome::Skipped(reason.clone());
    }
    let kept = LAST.with(|last| last.borrow().clone());
    let text = kept.map(|text| text.lock().clone()).unwrap_or_default();
    Outcome::Failed(if text.is_empty() { "a panic without words".to_owned() } else { text })
}

/// What the threads of the process do, for a case that hangs: the kernel's word for each.
fn threads() -> String {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return String::new() };
    let line = |task: std::fs::DirEntry| {
        let read = |what: &str| std::fs::read_to_string(task.path().join(what)).unwrap_or_default();
        let status = read("status");
        let state = status.lines().find_map(|line| line.strip_prefix("State:")).unwrap_or("?");
        let (name, place) = (read("comm"), read("wchan"));
        format!("  thread {}: {}, {}", name.trim(), state.trim(), place.trim())
    };
    tasks.flatten().map(line).collect::<Vec<_>>().join("\n")
}
