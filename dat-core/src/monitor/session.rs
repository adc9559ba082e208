//! The adapters of this process, its page, and the thread that writes it.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use dat_sync::clock;
use dat_sync::descriptors::Private;
use dat_sync::pages::per_process::PerProcess;

use super::page::Page;
use super::sampler;
use crate::ia::IaInner;

/// What this process shows. A child of `fork` shows only what it opens itself. The lock comes from std, as that of the
/// timer of connection attempts.
#[derive(Default)]
struct Monitor {
    state: Mutex<State>,
    /// Held while the thread uses adapters that it has found, so that a closed adapter is gone.
    sampling: Mutex<()>,
}

#[derive(Default)]
struct State {
    /// The open adapters, by their address.
    adapters: Vec<Weak<IaInner>>,
    /// Exists while there is an adapter.
    session: Option<Arc<Session>>,
    /// The descriptor by which readers find the page.
    file: Option<Private<OwnedFd>>,
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
pub(crate) fn join(ia: &Arc<IaInner>) {
    if clock::is_simulated() || cfg!(any(miri, loom)) {
        return;
    }
    let mut state = MONITOR.get().lock();
    state.adapters.push(Arc::downgrade(ia));
    if state.session.is_none() {
        let Ok((page, file)) = Page::create() else { return };
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
}

/// An adapter is closed, which joined or did not. When this returns, the thread does not use it any more.
pub(crate) fn leave(ia: &IaInner) {
    let monitor = MONITOR.get();
    let mut state = monitor.lock();
    let count = state.adapters.len();
    state.adapters.retain(|other| !std::ptr::eq(other.as_ptr(), ia));
    if state.adapters.len() == count {
        return;
    }
    let is_last = state.adapters.is_empty();
    let (session, file) = match is_last {
        true => (state.session.take(), state.file.take()),
        false => (None, None),
    };
    drop(state);
    // An endpoint whose last reference the thread drops may call the consumer, who may close the adapter.
    if !IS_SAMPLER.get() {
        drop(monitor.begin_sampling());
    }
    drop(file);
    if let Some(session) = session {
        session.is_over.store(true, Ordering::Release);
        session.page.wake();
    }
}

/// Calls a function with each open adapter.
pub(super) fn for_each_adapter(mut use_it: impl FnMut(&Arc<IaInner>)) {
    let monitor = MONITOR.get();
    let _sampling = monitor.begin_sampling();
    let adapters: Vec<_> = monitor.lock().adapters.iter().filter_map(Weak::upgrade).collect();
    adapters.iter().for_each(|ia| use_it(ia));
}

impl Session {
    /// Returns true if the last adapter is closed.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}
