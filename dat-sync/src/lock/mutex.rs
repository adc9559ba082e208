//! A mutual exclusion lock.
#![allow(unsafe_code, reason = "lock_api relies on the lock to exclude other threads")]

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags, Timespec};

use super::word::{self, Futex};
use crate::biased::token;

/// A lock around a value.
pub type Mutex<T> = lock_api::Mutex<RawLock, T>;
/// The guard of a [`Mutex`].
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawLock, T>;
/// A lock that the thread that holds it can take again.
pub type ReentrantMutex<T> = lock_api::ReentrantMutex<RawLock, ThreadToken, T>;

/// The word of a lock.
#[derive(Debug)]
pub struct RawLock(AtomicU32);

impl RawLock {
    /// Locks, unless the deadline comes first.
    pub(crate) fn lock_until(&self, deadline: Instant) -> bool {
        word::try_lock(self) || word::lock_slowly(self, Some(deadline))
    }
}

// SAFETY: the word admits one thread at a time: `.ci/loom` tries the protocol.
unsafe impl lock_api::RawMutex for RawLock {
    const INIT: Self = Self(AtomicU32::new(word::FREE));

    type GuardMarker = lock_api::GuardNoSend;

    #[inline]
    fn lock(&self) {
        if !word::try_lock(self) {
            word::lock_slowly(self, None);
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        word::try_lock(self)
    }

    #[inline]
    unsafe fn unlock(&self) {
        word::unlock(self);
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.load() != word::FREE
    }
}

impl Futex for RawLock {
    #[inline]
    fn load(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    fn replace(&self, old: u32, new: u32, order: Ordering) -> bool {
        self.0.compare_exchange(old, new, order, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.0.swap(value, order)
    }

    fn sleep(&self, value: u32, deadline: Option<Instant>) -> bool {
        sleep(&self.0, value, deadline)
    }

    fn wake_one(&self) {
        // It fails only for an invalid address.
        let _ = futex::wake(&self.0, Flags::PRIVATE, 1);
    }
}

/// Sleeps while a word has a value; false once the deadline has expired.
pub(super) fn sleep(word: &AtomicU32, value: u32, deadline: Option<Instant>) -> bool {
    /// One day, for a time too long for a `Timespec`.
    const LONG: Timespec = Timespec { tv_sec: 86_400, tv_nsec: 0 };
    let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
    let left = left.map(|left| left.try_into().unwrap_or(LONG));
    // Other errors mean a handled signal, or a value that changed before the sleep.
    futex::wait(word, Flags::PRIVATE, value, left.as_ref()) != Err(Errno::TIMEDOUT)
}

/// The identity of a thread, for [`ReentrantMutex`].
#[derive(Debug)]
pub struct ThreadToken;

// SAFETY: no two living threads have the same token, and it is never 0.
unsafe impl lock_api::GetThreadId for ThreadToken {
    const INIT: Self = Self;

    fn nonzero_thread_id(&self) -> NonZeroUsize {
        NonZeroUsize::new(token()).unwrap_or(NonZeroUsize::MAX)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use lock_api::RawMutex as _;

    use super::*;

    #[test]
    fn threads_are_inside_one_at_a_time() {
        const TIMES: u32 = if cfg!(miri) { 20 } else { 20_000 };
        let count = Arc::new(Mutex::new(0_u32));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let count = Arc::clone(&count);
                std::thread::spawn(move || {
                    for _ in 0..TIMES {
                        let mut count = count.lock();
                        let seen = *count;
                        std::hint::black_box(&count);
                        *count = seen + 1;
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert_eq!(*count.lock(), 4 * TIMES);
    }

    #[test]
    fn a_held_lock_is_refused_and_awaited_until_the_deadline() {
        let lock = RawLock::INIT;
        lock.lock();
        assert!(!lock.try_lock());
        assert!(!lock.lock_until(Instant::now() + Duration::from_millis(2)));
        // SAFETY: locked above.
        unsafe { lock.unlock() };
        assert!(lock.lock_until(Instant::now()), "it is free again");
    }

    #[test]
    fn a_sleeper_gets_the_lock_when_it_is_freed() {
        let lock = Arc::new(Mutex::new(()));
        let guard = lock.lock();
        let sleeper = {
            let lock = Arc::clone(&lock);
            std::thread::spawn(move || drop(lock.lock()))
        };
        std::thread::sleep(Duration::from_millis(20));
        drop(guard);
        sleeper.join().expect("no panic");
    }

    #[test]
    fn the_holder_of_a_reentrant_lock_can_take_it_again() {
        let lock = ReentrantMutex::new(());
        let outer = lock.lock();
        let inner = lock.lock();
        drop(outer);
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(lock.try_lock().is_none()));
        });
        drop(inner);
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(lock.try_lock().is_some()));
        });
    }
}
