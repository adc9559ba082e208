//! Work for later: attempts to connect again, and ends of waits.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dat_sync::{clock, thread};

type Task = Box<dyn FnOnce() + Send>;

/// A thread that sleeps until the next task is due. It is started by the first task, and never ends.
#[derive(Default)]
pub(crate) struct Timer {
    /// In the order of their times; a number makes them unique.
    tasks: Mutex<BTreeMap<(Instant, u64), Task>>,
    changed: Condvar,
    is_running: AtomicBool,
}

impl Timer {
    /// Runs a task after a delay. Without a thread, it runs at once.
    pub(crate) fn after(&'static self, delay: Duration, task: impl FnOnce() + Send + 'static) {
        if !self.is_running.swap(true, Ordering::AcqRel)
            && thread::start("dat-soft-verbs", || self.run()).is_err()
        {
            self.is_running.store(false, Ordering::Release);
            return task();
        }
        let mut tasks = self.lock();
        let at = clock::now() + delay;
        let last = tasks.range((at, 0)..=(at, u64::MAX)).next_back();
        let number = last.map_or(0, |((_, number), _)| number + 1);
        tasks.insert((at, number), Box::new(task));
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(Instant, u64), Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut tasks = self.lock();
        loop {
            let now = clock::now();
            let wait = match tasks.first_entry() {
                Some(entry) if entry.key().0 <= now => {
                    let task = entry.remove();
                    drop(tasks);
                    task();
                    tasks = self.lock();
                    continue;
                }
                Some(entry) => entry.key().0 - now,
                None => Duration::from_secs(3600),
            };
            tasks = match self.changed.wait_timeout(tasks, wait) {
                Ok((tasks, _)) => tasks,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }
}
