//! The adapters of this process, its page, and the thread that writes it.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use dat_sync::clock;
use dat_sync::descriptors::Private;
use dat_sync::pages::per_process::PerProcess;

use super::choice::MonitorChoice;
use super::metrics::MetricsFile;
use super::page::Page;
use super::sampler;
use crate::error::Result;
use crate::ia::IaInner;
use crate::provider::WaitCause;

/// What this process shows. A child of `fork` shows only what it opens itself. The lock comes from std, as that of the
/// timer of connection attempts.
#[derive(Default)]
struct Monitor {
    state: Mutex<State>,
    /// The endpoints that waited for something for more than a second when the thread saw them last.
    stalls: Mutex<HashMap<(u64, u64), Stall>>,
    /// Held while the thread uses adapters that it has found, so that a closed adapter is gone.
    sampling: Mutex<()>,
}

#[derive(Default)]
struct State {
    /// The open adapters.
    adapters: Vec<Joined>,
    /// Exists while there is an adapter.
    session: Option<Arc<Session>>,
    /// The descriptor by which readers find the page.
    file: Option<Private<OwnedFd>>,
}

/// How long the oldest operation of an endpoint waited when it was seen last, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The time without progress; up to 8 s more may have passed.
    pub age: Duration,
    /// What is missing.
    pub cause: WaitCause,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { age, cause } = self;
        write!(
            f,
            "The oldest operation had waited for {} s: {cause}; {}.",
            age.as_secs(),
            cause.advice()
        )
    }
}

/// An open adapter, and the file with its metrics.
struct Joined {
    ia: Weak<IaInner>,
    file: Option<Arc<MetricsFile>>,
}

/// A page and its thread, from the first adapter to the last one.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) page: Page,
    is_over: AtomicBool,
}

static MONITOR: PerProcess<Monitor> = PerProcess::new();

thread_local! {
    /// True in the thread that samples.
    static IS_SAMPLER: Cell<bool> = const { Cell::new(false) };
}

impl Monitor {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_sampling(&self) -> MutexGuard<'_, ()> {
        self.sampling.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An adapter was opened. If the system refuses the page or its thread, the process has none: it works as before.
///
/// # Errors
/// `DAT_INVALID_PARAMETER` if the file of metrics cannot be written.
pub(crate) fn join(ia: &Arc<IaInner>, choice: &MonitorChoice) -> Result<()> {
    let path = match choice {
        MonitorChoice::No => return Ok(()),
        MonitorChoice::Page => None,
        MonitorChoice::File(path) => Some(path),
    };
    if clock::is_simulated() || cfg!(any(miri, loom)) {
        return Ok(());
    }
    let mut state = MONITOR.get().lock();
    let file = path.map(|path| state.file_at(path)).transpose()?;
    state.adapters.push(Joined { ia: Arc::downgrade(ia), file });
    if state.session.is_none() {
        let Ok((page, file)) = Page::create() else { return Ok(()) };
        let session = Arc::new(Session { page, is_over: AtomicBool::new(false) });
        let run = {
            let session = Arc::clone(&session);
            move || {
                IS_SAMPLER.set(true);
                sampler::run(&session);
            }
        };
        if dat_sync::thread::start("dat-monitor", run).is_ok() {
            (state.session, state.file) = (Some(session), Some(file));
        }
    }
    Ok(())
}

impl State {
    /// The file that a parameter denotes: that of another adapter, or a new one.
    fn file_at(&self, path: &Path) -> Result<Arc<MetricsFile>> {
        let mut files = self.adapters.iter().filter_map(|joined| joined.file.as_ref());
        match files.find(|file| file.is_at(path)) {
            Some(file) => Ok(Arc::clone(file)),
            None => MetricsFile::create(path).map(Arc::new),
        }
    }
}

/// An adapter is closed, which joined or did not. When this returns, the thread does not use it any more.
pub(crate) fn leave(ia: &IaInner) {
    let monitor = MONITOR.get();
    let mut state = monitor.lock();
    let is_other = |joined: &Joined| !std::ptr::eq(joined.ia.as_ptr(), ia);
    let Some(index) = state.adapters.iter().position(|joined| !is_other(joined)) else { return };
    let left = state.adapters.swap_remove(index);
    let is_last = state.adapters.is_empty();
    let (session, file) = match is_last {
        true => (state.session.take(), state.file.take()),
        false => (None, None),
    };
    drop(state);
    // An endpoint whose last reference the thread drops may call the consumer, which may close the adapter.
    if !IS_SAMPLER.get() {
        drop(monitor.begin_sampling());
    }
    set_stalls(|stalls| stalls.retain(|(of, _), _| *of != ia.id));
    // The file of metrics is removed.
    drop((file, left));
    if let Some(session) = session {
        session.is_over.store(true, Ordering::Release);
        session.page.wake();
    }
}

/// The stall of an endpoint that the thread has seen last, until the endpoint makes progress.
pub(crate) fn stall(ia: u64, ep: u64) -> Option<Stall> {
    let stalls = MONITOR.get().stalls.lock().unwrap_or_else(PoisonError::into_inner);
    stalls.get(&(ia, ep)).copied()
}

/// The endpoints of this process that wait for something for more than a second, by the numbers of their adapters and of
/// themselves, as the thread has seen them last; at most that many.
#[must_use]
pub fn stalls(most: usize) -> Vec<(u64, u64, Stall)> {
    let stalls = MONITOR.get().stalls.lock().unwrap_or_else(PoisonError::into_inner);
    let mut all: Vec<_> = stalls.iter().map(|((ia, ep), stall)| (*ia, *ep, *stall)).collect();
    all.sort_by_key(|(.., stall)| std::cmp::Reverse(stall.age));
    all.truncate(most);
    all
}

/// Replaces the stalls of all endpoints.
pub(super) fn set_stalls(update: impl FnOnce(&mut HashMap<(u64, u64), Stall>)) {
    update(&mut MONITOR.get().stalls.lock().unwrap_or_else(PoisonError::into_inner));
}

/// An open adapter, and its file.
pub(super) type Opened = (Arc<IaInner>, Option<Arc<MetricsFile>>);

/// Calls a function with the open adapters, of which none is closed meanwhile.
pub(super) fn with_adapters<T>(use_them: impl FnOnce(&[Opened]) -> T) -> T {
    let monitor = MONITOR.get();
    let _sampling = monitor.begin_sampling();
    let opened = |joined: &Joined| Some((joined.ia.upgrade()?, joined.file.clone()));
    let adapters: Vec<Opened> = monitor.lock().adapters.iter().filter_map(opened).collect();
    use_them(&adapters)
}

impl Session {
    /// Returns true if the last adapter is closed.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}
