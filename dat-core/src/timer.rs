//! The clock of connection attempts: one thread for the process, started by the first attempt
//! with a finite time-out. A process that was forked has another clock than its parent, whose
//! thread it does not have.

use std::collections::BTreeMap;
use std::process;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use nix::sys::signal::SigSet;

use crate::ep::EpInner;
use crate::hot::HotWeak;

/// What is to be done when the time has come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Job {
    /// The attempt of that number is over.
    EndAttempt(u64),
    /// Something to look at that could not be looked at inside an upcall.
    CheckWatermark,
}

/// When an attempt is over, and which entry it is.
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
    entries: BTreeMap<TimerKey, (HotWeak<EpInner>, Job)>,
    next: u64,
    running: bool,
}

impl Timer {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The clock of this process. That of a parent is left alone: its lock may have been held when
/// the process was forked. The thread of the clock never comes here, so it can't hold this one.
fn timer() -> &'static Timer {
    static TIMER: Mutex<Option<(u32, &'static Timer)>> = Mutex::new(None);
    let mut current = TIMER.lock().unwrap_or_else(PoisonError::into_inner);
    let process = process::id();
    match *current {
        Some((owner, timer)) if owner == process => timer,
        _ => {
            let timer = Box::leak(Box::default());
            *current = Some((process, timer));
            timer
        }
    }
}

/// Has a job done for an endpoint at a time, unless cancelled. Nothing when the thread can't
/// be started: an attempt then has no time-out but the transport's.
pub(crate) fn schedule(
    deadline: Instant,
    endpoint: HotWeak<EpInner>,
    job: Job,
) -> Option<TimerKey> {
    let timer = timer();
    let mut state = timer.lock();
    if !state.running {
        let thread = std::thread::Builder::new().name("dat-timer".to_owned());
        thread.spawn(|| run(timer)).ok()?;
        state.running = true;
    }
    state.next += 1;
    let key = (deadline, state.next);
    let first = state.entries.first_key_value().is_none_or(|(first, _)| key < *first);
    state.entries.insert(key, (endpoint, job));
    if first {
        timer.condvar.notify_one();
    }
    Some(key)
}

/// Forgets an entry; nothing when it was due already.
pub(crate) fn cancel(key: TimerKey) {
    timer().lock().entries.remove(&key);
}

fn run(timer: &Timer) {
    // Signals are the business of the host program's threads.
    let _ = SigSet::all().thread_block();
    let mut state = timer.lock();
    loop {
        let now = Instant::now();
        state = match state.entries.first_key_value() {
            None => timer.condvar.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some((&(deadline, _), _)) if deadline > now => {
                let waited = timer.condvar.wait_timeout(state, deadline - now);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            Some(_) => {
                let Some((_, (endpoint, job))) = state.entries.pop_first() else { continue };
                drop(state);
                if let Some(endpoint) = endpoint.upgrade() {
                    match job {
                        Job::EndAttempt(attempt) => endpoint.connect_timed_out(attempt),
                        Job::CheckWatermark => endpoint.check_watermarks_patiently(),
                    }
                }
                timer.lock()
            }
        };
    }
}
