//! Upcalls that are deferred until the thread has left its locks.
//!
//! A proxy agent is called in the thread that brought the event, and that thread may be inside a
//! control call or a state change of an endpoint. An agent that asks for the state of that endpoint
//! would deadlock. So the call is deferred until its thread has released the last
//! [`UpcallFreeMutex`].

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use dat_sync::{Mutex, MutexGuard};

/// A mutex; see the module.
#[derive(Debug)]
pub(crate) struct UpcallFreeMutex<T>(Mutex<T>);

/// The guard of the mutex. Deferred upcalls are made after it has released the mutex.
pub(crate) struct UpcallFreeGuard<'a, T> {
    guard: MutexGuard<'a, T>,
    _inside: Inside,
}

/// Counts one lock that this thread holds.
struct Inside;

/// Upcalls are being made in this thread; those that they cause are queued behind them.
struct Calling;

/// An upcall with its arguments.
type Call = Box<dyn FnOnce()>;

thread_local! {
    static LOCKS: Cell<u32> = const { Cell::new(0) };
    static CALLING: Cell<bool> = const { Cell::new(false) };
    static WAITING: RefCell<VecDeque<Call>> = const { RefCell::new(VecDeque::new()) };
}

impl<T> UpcallFreeMutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> UpcallFreeGuard<'_, T> {
        UpcallFreeGuard { _inside: Inside::new(), guard: self.0.lock() }
    }

    pub(crate) fn try_lock(&self) -> Option<UpcallFreeGuard<'_, T>> {
        let guard = self.0.try_lock()?;
        Some(UpcallFreeGuard { _inside: Inside::new(), guard })
    }
}

impl<T> Deref for UpcallFreeGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for UpcallFreeGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl Inside {
    fn new() -> Self {
        LOCKS.set(LOCKS.get() + 1);
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        LOCKS.set(LOCKS.get() - 1);
        run_deferred();
    }
}

/// Makes an upcall now, or after this thread has released its locks and the earlier upcalls have
/// returned.
pub(crate) fn run_or_defer(upcall: impl FnOnce() + 'static) {
    let mut call: Option<Call> = Some(Box::new(upcall));
    let _ = WAITING.try_with(|waiting| waiting.borrow_mut().extend(call.take()));
    match call {
        None => run_deferred(),
        // A thread that is terminating has no thread-local queue any more.
        Some(call) => call(),
    }
}

/// Makes the queued upcalls one after the other, unless the thread holds a lock or already does so.
fn run_deferred() {
    if LOCKS.get() > 0 || CALLING.get() {
        return;
    }
    let _calling = Calling::begin();
    // A thread that is terminating has no queued upcalls.
    while let Ok(Some(call)) = WAITING.try_with(|waiting| waiting.borrow_mut().pop_front()) {
        call();
    }
}

impl Calling {
    fn begin() -> Self {
        CALLING.set(true);
        Self
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        CALLING.set(false);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn upcalls_run_at_once_or_after_the_last_lock_in_order() {
        let (one, two) = (Arc::new(UpcallFreeMutex::new(0)), UpcallFreeMutex::new(0));
        let seen = Arc::new(AtomicU32::new(0));
        let upcall = |digit: u32| {
            let (one, seen) = (Arc::clone(&one), Arc::clone(&seen));
            move || {
                *one.lock() += 1;
                seen.store(seen.load(Ordering::Relaxed) * 10 + digit, Ordering::Relaxed);
            }
        };
        run_or_defer(upcall(1));
        assert_eq!(seen.load(Ordering::Relaxed), 1);
        let outer = one.lock();
        let inner = two.try_lock().expect("free");
        run_or_defer(upcall(2));
        run_or_defer(upcall(3));
        drop(inner);
        assert_eq!(seen.load(Ordering::Relaxed), 1, "one lock is left");
        drop(outer);
        assert_eq!(seen.load(Ordering::Relaxed), 123);
        assert_eq!(*one.lock(), 3);
    }

    #[test]
    fn an_upcall_that_another_one_causes_runs_after_it() {
        let lock = Arc::new(UpcallFreeMutex::new(Vec::new()));
        let push = |digit: u32| {
            let lock = Arc::clone(&lock);
            move || lock.lock().push(digit)
        };
        let (own, later) = (Arc::clone(&lock), push(2));
        let outer = lock.lock();
        run_or_defer(move || {
            let mut inside = own.lock();
            run_or_defer(later);
            inside.push(1);
        });
        run_or_defer(push(3));
        drop(outer);
        assert_eq!(*lock.lock(), [1, 3, 2]);
    }
}
