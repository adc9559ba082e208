//! Waiting for a change of what a lock protects.

use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::futex::{self, Flags};

use super::MutexGuard;
use super::mutex::sleep;

/// Threads that wait for a change. The word counts the changes.
#[derive(Debug, Default)]
pub struct Condvar(AtomicU32);

impl Condvar {
    /// Creates one for which no thread waits.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Frees the lock until [`notify_all`](Self::notify_all); may return early.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let seen = self.0.load(Ordering::Relaxed);
        MutexGuard::unlocked(guard, || sleep(&self.0, seen, None));
    }

    /// Wakes all threads that wait. The caller has made the change under the lock.
    pub fn notify_all(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        // It fails only for an invalid address.
        let _ = futex::wake(&self.0, Flags::PRIVATE, i32::MAX as u32);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::Mutex;
    use super::*;

    #[test]
    fn a_waiter_sees_the_change() {
        let (state, changed) = (Mutex::new(0), Condvar::new());
        std::thread::scope(|scope| {
            for turn in 0..2 {
                let (state, changed) = (&state, &changed);
                scope.spawn(move || {
                    for _ in 0..100 {
                        let mut state = state.lock();
                        while *state % 2 != turn {
                            changed.wait(&mut state);
                        }
                        *state += 1;
                        changed.notify_all();
                    }
                });
            }
        });
        assert_eq!(*state.lock(), 200);
    }
}
