//! The clock of connection attempts: one thread for the process, started by the first attempt
//! with a finite time-out. A forked process has its own clock, since it does not have the thread of
//! its parent.
//!
//! Most attempts end long before their time-out. So the thread is woken only for a deadline that is
//! earlier than the time at which it wakes anyway, and it sleeps until the deadline that it was woken
//! for even if that was cancelled meanwhile: the next attempt has a later one, most likely.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use nix::sys::signal::SigSet;

use dat_sync::pages::per_process::PerProcess;

/// What the thread of the clock does when a deadline has passed.
type Job = Box<dyn FnOnce() + Send>;

/// A deadline, and the sequence number that tells entries of one deadline apart.
pub(crate) type TimerKey = (Instant, u64);

/// The table and its thread. The locks are those of std, of which a sleeper leaves nothing in the
/// memory of a forked process.
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

/// What the thread does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Thread {
    #[default]
    NotStarted,
    /// It runs, or was woken, and looks at the entries before it sleeps.
    Awake,
    /// It sleeps until that time, or until it is woken if there is none.
    Asleep(Option<Instant>),
}

impl Thread {
    /// Whether it has to be woken, or it would sleep beyond a deadline.
    fn oversleeps(self, deadline: Instant) -> bool {
        match self {
            Self::Asleep(until) => until.is_none_or(|until| deadline < until),
            Self::NotStarted | Self::Awake => false,
        }
    }
}

impl Timer {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The clock of this process. That of a parent is left alone: its lock may have been held when
/// the process was forked.
static TIMER: PerProcess<Timer> = PerProcess::new();

/// Has a job done at a time, unless cancelled. None if the thread can't be started: an attempt to
/// connect then has no time-out but that of the transport.
pub(crate) fn schedule(deadline: Instant, job: impl FnOnce() + Send + 'static) -> Option<TimerKey> {
    let timer = TIMER.get();
    let mut state = timer.lock();
    if state.thread == Thread::NotStarted {
        let thread = std::thread::Builder::new().name("dat-timer".to_owned());
        thread.spawn(move || run(timer)).ok()?;
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

/// Forgets an entry; nothing when it was due already.
pub(crate) fn cancel(key: TimerKey) {
    let entry = TIMER.get().lock().entries.remove(&key);
    drop(entry);
}

fn run(timer: &Timer) {
    // Signals are the business of the host program's threads.
    let _ = SigSet::all().thread_block();
    let mut state = timer.lock();
    loop {
        let now = Instant::now();
        let first = state.entries.first_key_value().map(|(&(deadline, _), _)| deadline);
        if first.is_some_and(|deadline| deadline <= now) {
            let Some((_, job)) = state.entries.pop_first() else { continue };
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
