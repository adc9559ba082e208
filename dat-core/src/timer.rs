//! The timer of connection attempts: one thread per process, started by the first attempt with a
//! finite time-out. A forked process has its own timer, since it does not have the thread of its
//! parent.
//!
//! Most attempts end long before their time-out. So the thread is woken only for a deadline that is
//! earlier than the time at which it would wake anyway, and it sleeps until the deadline that it
//! was woken for even if that entry is cancelled: most likely the next attempt has a later one.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dat_sync::clock;
use dat_sync::pages::per_process::PerProcess;

/// Run by the timer thread when a deadline has passed.
type Job = Box<dyn FnOnce() + Send>;

/// A deadline, and a sequence number that distinguishes entries with equal deadlines.
pub(crate) type TimerKey = (Instant, u64);

/// The table and its thread. Its locks come from std, which keep no record of sleeping threads that
/// a forked process would inherit.
#[derive(Default)]
struct Timer {
    state: Mutex<State>,
    condvar: Condvar,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<TimerKey, Job>,
    next: u64,
    thread: Thread,
    /// The deadline that the thread was woken for last.
    woken_for: Option<Instant>,
}

/// The state of the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Thread {
    #[default]
    NotStarted,
    /// It runs, or was woken, and will check the entries before it sleeps.
    Awake,
    /// It sleeps until that time, or until it is woken if there is none.
    Asleep(Option<Instant>),
}

impl Thread {
    /// Returns true if it must be woken because it would otherwise sleep beyond a deadline.
    fn oversleeps(self, deadline: Instant) -> bool {
        match self {
            Self::Asleep(until) => until.is_none_or(|until| deadline < until),
            Self::NotStarted | Self::Awake => false,
        }
    }
}

impl State {
    fn first_deadline(&self) -> Option<Instant> {
        self.entries.first_key_value().map(|(&(deadline, _), _)| deadline)
    }

    /// Takes the first entry, if its deadline has passed.
    fn take_due(&mut self, now: Instant) -> Option<Job> {
        let is_due = self.first_deadline().is_some_and(|deadline| deadline <= now);
        is_due.then(|| self.entries.pop_first()).flatten().map(|(_, job)| job)
    }
}

impl Timer {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The timer of this process. That of a parent is not touched: its lock may have been held when the
/// process was forked.
static TIMER: PerProcess<Timer> = PerProcess::new();

/// Schedules a job for a deadline. `None` if the thread cannot be started: a connection attempt
/// then has only the time-out of the transport.
pub(crate) fn schedule(deadline: Instant, job: impl FnOnce() + Send + 'static) -> Option<TimerKey> {
    let timer = TIMER.get();
    let mut state = timer.lock();
    if state.thread == Thread::NotStarted {
        // A simulation runs the entries itself.
        if !clock::is_simulated() {
            dat_sync::thread::start("dat-timer", move || run(timer)).ok()?;
        }
        state.thread = Thread::Awake;
        state.woken_for = Some(deadline);
    }
    state.next += 1;
    let key = (deadline, state.next);
    state.entries.insert(key, Box::new(job));
    if state.thread.oversleeps(deadline) {
        state.thread = Thread::Awake;
        state.woken_for = Some(deadline);
        drop(state);
        timer.condvar.notify_one();
    }
    Some(key)
}

/// Removes an entry; no effect if it is already due.
pub(crate) fn cancel(key: TimerKey) {
    let entry = TIMER.get().lock().entries.remove(&key);
    drop(entry);
}

fn run(timer: &Timer) {
    let mut state = timer.lock();
    loop {
        let now = clock::now();
        let first = state.first_deadline();
        if let Some(job) = state.take_due(now) {
            drop(state);
            job();
            state = timer.lock();
            continue;
        }
        let until = first.into_iter().chain(state.woken_for.filter(|at| *at > now)).min();
        state.thread = Thread::Asleep(until);
        state = match until {
            None => timer.condvar.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(until) => {
                let waited = timer.condvar.wait_timeout(state, until - now);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        state.thread = Thread::Awake;
    }
}

/// The timer in a simulation, which does the work of the thread.
pub mod simulated {
    use std::time::Instant;

    use dat_sync::clock;

    use super::TIMER;

    /// When the thread would wake up; never if there is no entry.
    #[must_use]
    pub fn wakes_at() -> Option<Instant> {
        TIMER.get().lock().first_deadline()
    }

    /// Runs the entries that are due.
    pub fn run() {
        let take = || TIMER.get().lock().take_due(clock::now());
        while let Some(job) = take() {
            job();
        }
    }

    /// Drops all entries.
    pub fn clear() {
        let entries = std::mem::take(&mut TIMER.get().lock().entries);
        drop(entries);
    }
}
