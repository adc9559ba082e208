//! The clock of connection attempts: one thread for the process, started by the first attempt
//! with a finite time-out.

use std::collections::BTreeMap;
use std::sync::{OnceLock, Weak};
use std::time::Instant;

use nix::sys::signal::SigSet;
use parking_lot::{Condvar, Mutex};

use crate::ep::EpShared;

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

struct Timer {
    state: Mutex<State>,
    condvar: Condvar,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<TimerKey, (Weak<EpShared>, Job)>,
    next: u64,
    running: bool,
}

fn timer() -> &'static Timer {
    static TIMER: OnceLock<Timer> = OnceLock::new();
    TIMER.get_or_init(|| Timer { state: Mutex::default(), condvar: Condvar::new() })
}

/// Has a job done for an endpoint at a time, unless cancelled. Nothing when the thread can't
/// be started: an attempt then has no time-out but the transport's.
pub(crate) fn schedule(deadline: Instant, endpoint: Weak<EpShared>, job: Job) -> Option<TimerKey> {
    let timer = timer();
    let mut state = timer.state.lock();
    if !state.running {
        std::thread::Builder::new().name("dat-timer".to_owned()).spawn(run).ok()?;
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
    timer().state.lock().entries.remove(&key);
}

fn run() {
    // Signals are the business of the host program's threads.
    let _ = SigSet::all().thread_block();
    let timer = timer();
    let mut state = timer.state.lock();
    loop {
        let now = Instant::now();
        match state.entries.first_key_value() {
            None => timer.condvar.wait(&mut state),
            Some((&(deadline, _), _)) if deadline > now => {
                timer.condvar.wait_until(&mut state, deadline);
            }
            Some(_) => {
                let Some((_, (endpoint, job))) = state.entries.pop_first() else { continue };
                drop(state);
                if let Some(endpoint) = endpoint.upgrade() {
                    match job {
                        Job::EndAttempt(attempt) => endpoint.connect_timed_out(attempt),
                        Job::CheckWatermark => endpoint.check_watermark_later(),
                    }
                }
                state = timer.state.lock();
            }
        }
    }
}
