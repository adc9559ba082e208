//! The thread that reads the sockets of the connection manager and keeps its time.
//!
//! It is started by the first identifier that needs it, and never ends. A child of fork starts its own.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use dat_sync::epoll::{self, Event, EventData, EventFlags};
use dat_sync::{Mutex, PerProcess, Private};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;

use crate::error::{Error, Result};

/// The thread of this process, if it was started.
static PROGRESS: PerProcess<Mutex<Option<Arc<Progress>>>> = PerProcess::new();

/// The token of the descriptor that wakes the thread.
const WAKE: u64 = 0;
/// Number of events that are taken at once.
const EVENTS: usize = 64;

/// The user of a descriptor, which the thread calls when it is ready.
pub(super) trait Ready: Send + Sync {
    /// The descriptor is ready. Called by the thread only, without a lock of it.
    fn ready(self: Arc<Self>);
}

type Task = Box<dyn FnOnce() + Send>;

/// The thread, as others see it.
pub(super) struct Progress {
    set: Private<OwnedFd>,
    wake: Private<OwnedFd>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u64,
    watched: HashMap<u64, Weak<dyn Ready>>,
    /// Tasks for a later time. The number makes equal times distinct.
    tasks: BTreeMap<(Instant, u64), Task>,
}

/// A descriptor that the thread watches, until this is dropped.
pub(super) struct Watch {
    progress: Arc<Progress>,
    token: u64,
}

impl Progress {
    /// The thread of this process, which is started if necessary.
    ///
    /// # Errors
    /// There is no descriptor or thread left.
    pub(super) fn get() -> Result<Arc<Self>> {
        let mut current = PROGRESS.get().lock();
        if let Some(progress) = &*current {
            return Ok(Arc::clone(progress));
        }
        let failed = |error| Error::system("open the descriptors of the connection manager", error);
        let set = Private::create(epoll::create).map_err(failed)?;
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let wake = Private::create(|| eventfd(0, flags)).map_err(failed)?;
        epoll::add(&set, &wake, EventData::new_u64(WAKE), EventFlags::IN).map_err(failed)?;
        let progress = Arc::new(Self { set, wake, state: Mutex::default() });
        let thread = Arc::clone(&progress);
        dat_sync::thread::start("soft-cm", move || thread.run()).map_err(|error| {
            let errno = error.raw_os_error().unwrap_or(libc::EAGAIN);
            Error::new(errno, format!("cannot start the thread of the connection manager: {error}"))
        })?;
        *current = Some(Arc::clone(&progress));
        Ok(progress)
    }

    /// Watches a descriptor, and calls the target while it is ready.
    ///
    /// # Errors
    /// There is no memory left.
    pub(super) fn watch(
        self: &Arc<Self>,
        descriptor: impl AsFd,
        interest: EventFlags,
        target: Weak<dyn Ready>,
    ) -> Result<Watch> {
        let token = {
            let mut state = self.state.lock();
            state.last += 1;
            let token = state.last;
            state.watched.insert(token, target);
            token
        };
        let watch = Watch { progress: Arc::clone(self), token };
        epoll::add(&self.set, descriptor, EventData::new_u64(token), interest)
            .map_err(|error| Error::system("watch a socket", error))?;
        Ok(watch)
    }

    /// Calls a function later, in the thread.
    pub(super) fn later(&self, after: Duration, task: impl FnOnce() + Send + 'static) {
        {
            let mut state = self.state.lock();
            state.last += 1;
            let key = (Instant::now() + after, state.last);
            state.tasks.insert(key, Box::new(task));
        }
        // The counter cannot be full: the thread reads it.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    fn run(self: &Arc<Self>) {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        loop {
            for task in self.due() {
                task();
            }
            let timeout = self.until_next();
            match epoll::wait_into(&self.set, &mut events, timeout.as_ref()) {
                Ok(()) => events.iter().for_each(|event| self.dispatch(event.data.u64())),
                Err(Errno::INTR) => {}
                // The program has closed all descriptors. The next identifier starts another thread.
                Err(_) => break,
            }
        }
        let mut current = PROGRESS.get().lock();
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, self)) {
            *current = None;
        }
    }

    fn dispatch(&self, token: u64) {
        if token == WAKE {
            let _ = rustix::io::read(&self.wake, &mut [0; 8]);
            return;
        }
        let target = self.state.lock().watched.get(&token).and_then(Weak::upgrade);
        if let Some(target) = target {
            target.ready();
        }
    }

    /// Takes the tasks whose time has come.
    fn due(&self) -> Vec<Task> {
        let mut state = self.state.lock();
        let later = state.tasks.split_off(&(Instant::now(), u64::MAX));
        std::mem::replace(&mut state.tasks, later).into_values().collect()
    }

    fn until_next(&self) -> Option<Timespec> {
        let state = self.state.lock();
        let (next, _) = state.tasks.keys().next()?;
        let rest = next.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        Timespec::try_from(rest).ok()
    }
}

impl Watch {
    /// Changes what the descriptor is watched for.
    pub(super) fn change(&self, descriptor: impl AsFd, interest: EventFlags) {
        let data = EventData::new_u64(self.token);
        // It fails only in a child of fork, where no thread watches.
        let _ = epoll::modify(&self.progress.set, descriptor, data, interest);
    }

    /// Ends the watch. The descriptor must be open still.
    pub(super) fn end(self, descriptor: impl AsFd) {
        let _ = epoll::delete(&self.progress.set, descriptor);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.progress.state.lock().watched.remove(&self.token);
    }
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::unbounded;

    use super::*;

    #[test]
    fn tasks_run_in_the_order_of_their_times() {
        let progress = Progress::get().expect("a thread");
        let (done, order) = unbounded();
        for wait in [30, 10, 20] {
            let done = done.clone();
            let after = Duration::from_millis(wait);
            progress.later(after, move || done.send(wait).expect("the test waits"));
        }
        assert_eq!(order.iter().take(3).collect::<Vec<_>>(), [10, 20, 30]);
    }
}
