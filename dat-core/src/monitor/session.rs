//! The adapters of this process, its page, and the thread that writes it.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dat_sync::descriptors::Private;
use dat_sync::{Mutex, PerProcess, clock};

use super::choice::{MonitorChoice, Shown};
use super::layout::Record;
use super::metrics::MetricsFile;
use super::observed::{Device, Joined, Observed};
use super::page::Page;
use super::sampler;
use crate::error::Result;
use crate::ia::IaInner;
use crate::provider::WaitCause;

/// The adapters that this process shows. A child of `fork` shows only those that it opens itself.
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
    /// The open adapters, and the files with their metrics.
    adapters: Vec<(Joined, Option<Arc<MetricsFile>>)>,
    /// Exists while there is an adapter.
    published: Option<Published>,
}

/// A page that readers find.
struct Published {
    session: Arc<Session>,
    /// The descriptor by which readers find it.
    file: Private<OwnedFd>,
    /// True if the thread of the session runs. Until then, the page is written under the lock of the state.
    has_thread: bool,
}

/// How long the oldest operation of an endpoint waited when it was seen last, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The time without progress; up to 8 s more may have passed.
    pub age: Duration,
    /// The cause of the wait.
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

/// A page, from the first adapter to the last one, and its thread, from the first endpoint.
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

/// An adapter was opened, and is in the page from now on. If the system refuses the page, the process has none: it works
/// as before.
///
/// # Errors
/// `DAT_INVALID_PARAMETER` if the file of metrics cannot be written.
pub(crate) fn join(ia: &Arc<IaInner>, shown: &Shown) -> Result<()> {
    if *shown == Shown::Nowhere || is_impossible() {
        ia.is_sampled.store(true, Ordering::Relaxed);
        return Ok(());
    }
    add(Joined::Ia(Arc::downgrade(ia)), shown)
}

/// Shows a device where its parameter `monitor` says, which has the values that it has for adapters. A child of `fork`
/// must show its devices again.
///
/// # Errors
/// `DAT_INVALID_PARAMETER` if `monitor` has no valid value, or the file of metrics cannot be written.
#[doc(hidden)]
pub fn show(device: &'static dyn Device, parameters: &str) -> Result<()> {
    match MonitorChoice::split(parameters).0.shown()? {
        Shown::Nowhere => Ok(()),
        _ if is_impossible() => Ok(()),
        shown => add(Joined::Device(device), &shown),
    }
}

/// A device that is shown has a connection: from now on the thread samples it.
#[doc(hidden)]
pub fn sample_devices() {
    let mut state = MONITOR.get().state.lock();
    if state.adapters.iter().any(|(joined, _)| matches!(joined, Joined::Device(_))) {
        state.start_thread();
    }
}

/// Returns true if there can be no page: in simulations and models.
fn is_impossible() -> bool {
    clock::is_simulated() || cfg!(any(miri, loom))
}

fn add(joined: Joined, shown: &Shown) -> Result<()> {
    let path = match shown {
        Shown::InFile(path) => Some(path),
        _ => None,
    };
    let mut state = MONITOR.get().state.lock();
    let file = path.map(|path| state.file_at(path)).transpose()?;
    state.adapters.push((joined, file));
    if state.published.is_none() {
        let Ok((page, file)) = Page::create() else { return Ok(()) };
        let session = Arc::new(Session { page, is_over: AtomicBool::new(false) });
        state.published = Some(Published { session, file, has_thread: false });
    }
    match path {
        Some(_) => state.start_thread(),
        None => state.write_adapters(),
    }
    Ok(())
}

/// An adapter has something that changes without it: an endpoint, or counters. From now on the thread samples it. Until
/// then its row in the page is complete, so that a program that only opens and closes adapters needs no thread.
#[inline]
pub(crate) fn sample(ia: &IaInner) {
    if !ia.is_sampled.load(Ordering::Relaxed) {
        begin_to_sample(ia);
    }
}

#[cold]
fn begin_to_sample(ia: &IaInner) {
    // In a child of `fork`, this starts no thread for an adapter of the parent: the child has a state of its own.
    MONITOR.get().state.lock().start_thread();
    ia.is_sampled.store(true, Ordering::Relaxed);
}

impl State {
    /// Starts the thread, unless it runs. If the system refuses it, the adapters remain without a sample.
    fn start_thread(&mut self) {
        let Some(published) = self.published.as_mut().filter(|it| !it.has_thread) else { return };
        published.session.page.set_complete(false);
        let session = Arc::clone(&published.session);
        let run = move || {
            IS_SAMPLER.set(true);
            sampler::run(&session);
        };
        published.has_thread = dat_sync::thread::start("dat-monitor", run).is_ok();
        if !published.has_thread {
            published.session.page.set_complete(true);
        }
    }

    /// Writes the rows of the adapters, unless the thread does that.
    fn write_adapters(&self) {
        let Some(published) = self.published.as_ref().filter(|it| !it.has_thread) else { return };
        let adapters = self.adapters.iter().filter_map(|(joined, _)| joined.observe());
        let records: Vec<Record> =
            adapters.map(|observed| Record::Adapter(observed.row(String::new()))).collect();
        published.session.page.write(&records);
    }

    /// The file that a parameter denotes. Adapters with the same path share one.
    fn file_at(&self, path: &Path) -> Result<Arc<MetricsFile>> {
        let mut files = self.adapters.iter().filter_map(|(_, file)| file.as_ref());
        match files.find(|file| file.is_at(path)) {
            Some(file) => Ok(Arc::clone(file)),
            None => MetricsFile::create(path).map(Arc::new),
        }
    }
}

/// An adapter is closed, which joined or did not. When this returns, the thread does not use it any more.
pub(crate) fn leave(ia: &IaInner) {
    let monitor = MONITOR.get();
    let mut state = monitor.state.lock();
    let Some(index) = state.adapters.iter().position(|(joined, _)| joined.is(ia)) else { return };
    let left = state.adapters.swap_remove(index);
    let has_thread = state.published.as_ref().is_some_and(|it| it.has_thread);
    let published = match state.adapters.is_empty() {
        true => state.published.take(),
        false => {
            state.write_adapters();
            None
        }
    };
    drop(state);
    // An endpoint whose last reference the thread drops may call the consumer, which may close the adapter.
    if has_thread && !IS_SAMPLER.get() {
        drop(monitor.sampling.lock());
    }
    update_stalls(|stalls| stalls.retain(|(of, _), _| *of != ia.id));
    // The file of metrics is removed.
    drop(left);
    let Some(Published { session, file, .. }) = published else { return };
    drop(file);
    if has_thread {
        session.is_over.store(true, Ordering::Release);
        session.page.wake();
    }
}

/// The stall of an endpoint that the thread has seen last, until the endpoint makes progress.
pub(crate) fn stall(ia: u64, ep: u64) -> Option<Stall> {
    MONITOR.get().stalls.lock().get(&(ia, ep)).copied()
}

/// The endpoints of this process that had waited for something for more than a second when the thread saw them last: the
/// number of the adapter, the number of the endpoint, and the stall. The longest stalls come first; `most` limits their
/// number.
#[must_use]
pub fn stalls(most: usize) -> Vec<(u64, u64, Stall)> {
    let stalls = MONITOR.get().stalls.lock();
    let mut all: Vec<_> = stalls.iter().map(|((ia, ep), stall)| (*ia, *ep, *stall)).collect();
    all.sort_by_key(|(.., stall)| std::cmp::Reverse(stall.age));
    all.truncate(most);
    all
}

/// Changes the stalls of the endpoints.
pub(super) fn update_stalls(update: impl FnOnce(&mut HashMap<(u64, u64), Stall>)) {
    update(&mut MONITOR.get().stalls.lock());
}

/// An open adapter, and its file.
pub(super) type Opened = (Observed, Option<Arc<MetricsFile>>);

/// Calls a function with the open adapters, of which none is closed meanwhile.
pub(super) fn with_adapters<T>(use_them: impl FnOnce(&[Opened]) -> T) -> T {
    let monitor = MONITOR.get();
    let _sampling = monitor.sampling.lock();
    let adapters: Vec<Opened> = {
        let state = monitor.state.lock();
        let opened = state.adapters.iter();
        opened.filter_map(|(joined, file)| Some((joined.observe()?, file.clone()))).collect()
    };
    use_them(&adapters)
}

impl Session {
    /// Returns true if the last adapter is closed.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}
