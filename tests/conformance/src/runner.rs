//! Runs cases, each in its own thread and with a time limit.

use crossbeam_channel::{RecvTimeoutError, unbounded};
use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use crate::case::{Case, Skipped};
use crate::exclude::Exclusions;

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The rule holds.
    Passed,
    /// The rule does not hold; the message of the panic.
    Failed(String),
    /// The case did not end in time; what the threads of the process were doing.
    Hung(String),
    /// The case cannot run on this adapter, with the reason.
    Skipped(String),
    /// The exclusion file names the case, with the reason.
    Excluded(String),
}

impl Outcome {
    /// Returns true if it counts as a failure.
    #[must_use]
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Hung(_))
    }
}

/// The result of a case.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The case.
    pub case: Case,
    /// How it ended.
    pub outcome: Outcome,
    /// How long the case ran.
    pub time: Duration,
}

/// Which cases to run, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Only cases whose path (`noun::rule`) or rule begins with one of these; all when empty.
    pub filters: Vec<String>,
    /// Cases to leave out, with reasons.
    pub exclusions: Exclusions,
    /// Time limit of a case.
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
    /// Returns true if the filters select a case.
    #[must_use]
    pub fn selects(&self, case: &Case) -> bool {
        let path = case.short_name();
        let rule = path.split_once("::").map_or(path, |(_, rule)| rule);
        let begins = |filter: &String| {
            path.starts_with(filter.as_str()) || rule.starts_with(filter.as_str())
        };
        self.filters.is_empty() || self.filters.iter().any(begins)
    }

    /// Runs the selected cases one after the other and passes each verdict to `report` at once.
    pub fn run(&self, cases: &[Case], report: impl FnMut(&Verdict)) -> Vec<Verdict> {
        self.run_until(|| false, cases, report)
    }

    /// As [`run`](Self::run), until `stops` returns true: it is asked several times a second. The case
    /// that runs then is abandoned, and has no verdict.
    pub fn run_until(
        &self,
        stops: impl Fn() -> bool,
        cases: &[Case],
        mut report: impl FnMut(&Verdict),
    ) -> Vec<Verdict> {
        quiet_panics();
        let selected = cases.iter().filter(|case| self.selects(case));
        selected
            .map_while(|case| {
                let start = Instant::now();
                let outcome = match self.exclusions.reason(case.short_name()) {
                    _ if stops() => return None,
                    Some(reason) => Outcome::Excluded(reason.to_owned()),
                    None => run_bounded(case, self.limit, &stops)?,
                };
                let verdict = Verdict { case: *case, outcome, time: start.elapsed() };
                report(&verdict);
                Some(verdict)
            })
            .collect()
    }
}

/// How often a run that waits for a case asks whether it is to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// Runs a case in a thread. A thread that hangs is abandoned, and so is the case, without an outcome,
/// once `stops` returns true.
fn run_bounded(case: &Case, limit: Duration, stops: impl Fn() -> bool) -> Option<Outcome> {
    let (done, wait) = unbounded();
    let run = case.run;
    let name = case.short_name().to_owned();
    let thread = std::thread::Builder::new().name(name).spawn(move || {
        LAST.with(|last| *last.borrow_mut() = Some(Arc::default()));
        let result = panic::catch_unwind(AssertUnwindSafe(run));
        let _ = done.send(result.err().map(|payload| explain(&*payload)));
    });
    if let Err(error) = thread {
        return Some(Outcome::Failed(format!("cannot start a thread for the case: {error}")));
    }
    let start = Instant::now();
    loop {
        let left = limit.saturating_sub(start.elapsed());
        return Some(match wait.recv_timeout(left.min(STOP_INTERVAL)) {
            Ok(None) => Outcome::Passed,
            Ok(Some(outcome)) => outcome,
            Err(RecvTimeoutError::Timeout) if stops() => return None,
            Err(RecvTimeoutError::Timeout) if start.elapsed() < limit => continue,
            Err(RecvTimeoutError::Timeout) => {
                Outcome::Hung(format!("still running after {} s\n{}", limit.as_secs(), threads()))
            }
            Err(RecvTimeoutError::Disconnected) => {
                Outcome::Failed("the thread of the case ended without a result".to_owned())
            }
        });
    }
}

thread_local! {
    /// Message and location of the last panic of this thread.
    static LAST: RefCell<Option<Arc<parking_lot::Mutex<String>>>> = const { RefCell::new(None) };
}

/// Keeps panic messages of cases off the terminal: the verdicts have them.
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
    Outcome::Failed(if text.is_empty() { "panic with no message".to_owned() } else { text })
}

/// The state of each thread of the process and the kernel function in which it waits, for a case
/// that hangs.
fn threads() -> String {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return String::new() };
    let line = |task: std::fs::DirEntry| {
        let read = |what: &str| std::fs::read_to_string(task.path().join(what)).unwrap_or_default();
        let status = read("status");
        let state = status.lines().find_map(|line| line.strip_prefix("State:")).unwrap_or("?");
        let (name, waits_in) = (read("comm"), read("wchan"));
        format!("  thread {}: {}, {}", name.trim(), state.trim(), waits_in.trim())
    };
    tasks.flatten().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::Plan;
    use crate::Case;

    #[test]
    fn a_run_that_stops_keeps_the_verdicts_so_far() {
        let case = |name, run| Case { name, source: "", run };
        let cases = [
            case("suite::cases::one::passes", || ()),
            case("suite::cases::one::hangs", std::thread::park),
            case("suite::cases::one::never_starts", || ()),
        ];
        let seen = Cell::new(0);
        let plan = Plan::default();
        let verdicts = plan.run_until(|| seen.get() > 0, &cases, |_| seen.set(seen.get() + 1));
        assert_eq!((verdicts.len(), seen.get()), (1, 1));
        let asked = Cell::new(0);
        let stops = || asked.replace(asked.get() + 1) >= 2;
        let verdicts = plan.run_until(stops, &cases, |_| ());
        assert_eq!(verdicts.len(), 1, "the case that hangs is abandoned");
    }

    #[test]
    fn a_filter_is_the_beginning_of_a_path_or_of_a_rule() {
        let case = Case { name: "suite::cases::property_evd::a_queue", source: "", run: || () };
        let selects = |filter: &str| {
            Plan { filters: vec![filter.to_owned()], ..Plan::default() }.selects(&case)
        };
        assert!(selects("property_evd::"));
        assert!(selects("a_que"));
        assert!(!selects("evd::"));
        assert!(!selects("queue"));
        assert!(Plan::default().selects(&case));
    }
}
