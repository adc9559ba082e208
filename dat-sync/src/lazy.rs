//! Values that the first use creates, without waiting for another thread.
#![allow(unsafe_code, reason = "a value that was published is never freed")]

use std::ops::Deref;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A value that the first use creates.
///
/// A child of a fork does not have the thread that was creating a `LazyLock` at that time, and would wait for
/// it without end. Here, threads that need the value at the same time each create one, and all use the
/// first. It is never dropped.
#[derive(Debug)]
pub struct Lazy<T: 'static> {
    value: AtomicPtr<T>,
    make: fn() -> T,
}

impl<T: Send + Sync> Lazy<T> {
    /// A value that this function will create, perhaps several times.
    #[must_use]
    pub const fn new(make: fn() -> T) -> Self {
        Self { value: AtomicPtr::new(null_mut()), make }
    }

    #[cold]
    fn create(&self) -> &'static T {
        let mine = Box::into_raw(Box::new((self.make)()));
        // Pairs with the loads of other threads, here and in `deref`.
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let found = match self.value.compare_exchange(null_mut(), mine, success, failure) {
            Ok(_) => mine,
            Err(other) => {
                // SAFETY: it was allocated above, and no other thread has a reference to it.
                drop(unsafe { Box::from_raw(mine) });
                other
            }
        };
        // SAFETY: a value that was published is never freed.
        unsafe { &*found }
    }
}

impl<T: Send + Sync> Deref for Lazy<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: null, or a value that was published and is never freed.
        match unsafe { self.value.load(Ordering::Acquire).as_ref() } {
            Some(value) => value,
            None => self.create(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn all_threads_get_the_same_value() {
        static VALUE: Lazy<Box<u32>> = Lazy::new(|| Box::new(7));
        let threads: Vec<_> =
            (0..4).map(|_| std::thread::spawn(|| std::ptr::from_ref(&**VALUE).addr())).collect();
        let found: Vec<_> = threads.into_iter().map(|it| it.join().expect("no panic")).collect();
        assert!(found.iter().all(|one| *one == std::ptr::from_ref(&**VALUE).addr()));
        assert_eq!(**VALUE, 7);
    }
}
