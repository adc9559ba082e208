//! Locks of state that belongs to the process.
//!
//! A child of a fork has the state and the locks of its parent, but only one of its threads. A handler of
//! fork therefore takes every lock of this kind before the process is copied, and both processes free
//! them: no thread changes the state at that time.
//!
//! A thread that holds one of these locks makes no upcall, and waits for nothing but short system calls.
#![allow(unsafe_code, reason = "the handlers of fork reach the lock without a guard")]

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use super::fork::{self, Held, Listed};
use super::{Condvar, Mutex, MutexGuard, RawLock};

/// The state that a lock protects, in the order in which a thread may take the locks. Each has one lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Rank {
    /// The open adapters of C providers.
    ForeignAdapters,
    /// The libraries of C providers.
    ForeignLibraries,
    /// The C providers that registered themselves.
    ForeignProviders,
    /// The function tables of C providers.
    ForeignTables,
    /// The changeable parts of all registries.
    Registries,
    /// The numbers of open adapters.
    AdapterNumbers,
    /// The function tables of Rust adapters.
    AdapterTables,
    /// The adapters that are opened for a query.
    Queries,
    /// The addresses of datagrams.
    DatagramAddresses,
    /// The cells of handles.
    Handles,
    /// The region table of software providers.
    Regions,
    /// The list of loaded objects of the C library, whose lock is not freed in a child.
    LoadedObjects,
    /// The symbols that the executable has or lacks.
    LinkedSymbols,
    /// The private descriptors.
    Descriptors,
    /// The slab allocator.
    Slab,
    /// A lock of a test.
    Test,
}

/// Number of ranks.
pub(super) const RANKS: usize = Rank::Test as usize + 1;

/// A lock of state that belongs to the process.
pub struct ProcessLock<T> {
    rank: Rank,
    in_child: fn(&mut T),
    is_listed: AtomicBool,
    value: Mutex<T>,
}

/// The guard of the lock.
pub struct ProcessGuard<T: 'static> {
    guard: MutexGuard<'static, T>,
    /// Dropped after the guard.
    _held: Held,
}

impl<T: Send> ProcessLock<T> {
    /// Creates a lock around a value, which stays the same in a child.
    #[must_use]
    pub const fn new(rank: Rank, value: T) -> Self {
        Self::with_child(rank, value, |_| {})
    }

    /// As [`new`](Self::new), with a function that changes the value in a child. It may call only
    /// functions that a handler of fork may call, and take no lock.
    #[must_use]
    pub const fn with_child(rank: Rank, value: T, in_child: fn(&mut T)) -> Self {
        Self { rank, in_child, is_listed: AtomicBool::new(false), value: Mutex::new(value) }
    }

    /// Locks. No process is forked until the guard is dropped.
    pub fn lock(&'static self) -> ProcessGuard<T> {
        // Pairs with `list`.
        if !self.is_listed.load(Ordering::Acquire) {
            self.list();
        }
        let held = Held::new(self.rank);
        ProcessGuard { guard: self.value.lock(), _held: held }
    }

    /// Makes the handlers take the lock, before it is taken for the first time.
    #[cold]
    fn list(&'static self) {
        fork::list(self.rank, self);
        self.is_listed.store(true, Ordering::Release);
    }
}

impl<T> fmt::Debug for ProcessLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProcessLock({:?})", self.rank)
    }
}

impl<T> ProcessGuard<T> {
    /// Frees the lock until the condition changes; may return early.
    pub fn wait(&mut self, changed: &Condvar) {
        changed.wait(&mut self.guard);
    }
}

impl<T> Deref for ProcessGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for ProcessGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T: fmt::Debug> fmt::Debug for ProcessGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Send> Listed for ProcessLock<T> {
    fn raw(&self) -> &RawLock {
        // SAFETY: the handlers free only what they have locked.
        unsafe { self.value.raw() }
    }

    fn in_child(&self) {
        // SAFETY: this thread holds the lock, without a guard.
        (self.in_child)(unsafe { &mut *self.value.data_ptr() });
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};

    use super::*;

    static PAIR: ProcessLock<(u64, u64)> =
        ProcessLock::with_child(Rank::Test, (0, 0), |pair| pair.1 += 1000);

    /// Forks while other threads change the pair in two steps; the child checks it and takes the lock.
    #[test]
    fn a_child_finds_the_lock_free_and_the_state_complete() {
        static IS_OVER: AtomicBool = AtomicBool::new(false);
        // The handlers know the locks that were taken at least once.
        drop(PAIR.lock());
        let threads: Vec<_> = (0..3)
            .map(|_| {
                std::thread::spawn(|| {
                    while !IS_OVER.load(Ordering::Relaxed) {
                        let mut pair = PAIR.lock();
                        pair.0 += 1;
                        std::thread::yield_now();
                        pair.1 += 1;
                    }
                })
            })
            .collect();
        for _ in 0..50 {
            // SAFETY: the child takes the lock and makes system calls.
            match unsafe { fork() }.expect("a child") {
                ForkResult::Child => {
                    // SAFETY: ends a child that hangs.
                    unsafe { nix::libc::alarm(20) };
                    let pair = PAIR.lock();
                    let is_right = pair.1 == pair.0 + 1000;
                    // SAFETY: `_exit` ends the process without running any destructor.
                    unsafe { nix::libc::_exit(i32::from(!is_right)) }
                }
                ForkResult::Parent { child } => {
                    assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
                }
            }
        }
        IS_OVER.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        let pair = PAIR.lock();
        assert_eq!(pair.0, pair.1, "the parent is not changed");
    }

    /// As in a handler of a signal.
    #[test]
    fn a_thread_that_forks_while_it_holds_the_lock_holds_it_in_the_child() {
        let guard = PAIR.lock();
        // SAFETY: the child frees the lock, takes it and exits.
        match unsafe { fork() }.expect("a child") {
            ForkResult::Child => {
                // SAFETY: ends a child that hangs.
                unsafe { nix::libc::alarm(20) };
                drop(guard);
                let pair = PAIR.lock();
                let is_right = pair.0 == pair.1;
                // SAFETY: `_exit` ends the process without running any destructor.
                unsafe { nix::libc::_exit(i32::from(!is_right)) }
            }
            ForkResult::Parent { child } => {
                assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
            }
        }
    }
}
