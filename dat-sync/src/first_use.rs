//! A value of an object that its first use creates.
#![allow(unsafe_code, reason = "the value is written once, before it is published")]

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU8, Ordering};

/// A place for a value that is stored at most once. Unlike in a `OnceLock`, the value comes first, and code that
/// knows that it is there reads it without a test.
#[repr(C)]
pub struct FirstUse<T> {
    value: UnsafeCell<MaybeUninit<T>>,
    phase: AtomicU8,
}

const EMPTY: u8 = 0;
const BEING_STORED: u8 = 1;
const STORED: u8 = 2;

// SAFETY: the value moves with the place.
unsafe impl<T: Send> Send for FirstUse<T> {}
// SAFETY: any thread can store the value, and after that it is only shared.
unsafe impl<T: Send + Sync> Sync for FirstUse<T> {}

impl<T> FirstUse<T> {
    /// An empty place.
    #[must_use]
    pub const fn new() -> Self {
        Self { value: UnsafeCell::new(MaybeUninit::uninit()), phase: AtomicU8::new(EMPTY) }
    }

    /// The value, if it was stored.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        let is_stored = self.phase.load(Ordering::Acquire) == STORED;
        // SAFETY: the value was stored.
        is_stored.then(|| unsafe { self.get_unchecked() })
    }

    /// The value, which must have been stored.
    ///
    /// # Safety
    /// The caller has synchronised with a [`set`](Self::set) that succeeded.
    #[inline(always)]
    pub unsafe fn get_unchecked(&self) -> &T {
        // SAFETY: a value that was stored is never changed, so it can be shared.
        let value = unsafe { &*self.value.get() };
        // SAFETY: the caller guarantees that it was stored.
        unsafe { value.assume_init_ref() }
    }

    /// Stores the value.
    ///
    /// # Errors
    /// Returns it if another one was stored before, or is being stored.
    pub fn set(&self, value: T) -> Result<&T, T> {
        let (from, to) = (EMPTY, BEING_STORED);
        if self.phase.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return Err(value);
        }
        // SAFETY: only this call stores the value, and nothing reads it before the next store.
        let place = unsafe { &mut *self.value.get() };
        let stored = &*place.write(value);
        // Release: pairs with the load in `get`.
        self.phase.store(STORED, Ordering::Release);
        Ok(stored)
    }
}

impl<T> Default for FirstUse<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for FirstUse<T> {
    fn drop(&mut self) {
        if *self.phase.get_mut() == STORED {
            // SAFETY: the value was stored, and is dropped once.
            unsafe { self.value.get_mut().assume_init_drop() };
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for FirstUse<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn only_the_first_value_is_stored_and_each_is_dropped_once() {
        let (first, second) = (Arc::new(1), Arc::new(2));
        let place = FirstUse::new();
        assert_eq!(place.get(), None);
        assert_eq!(place.set(Arc::clone(&first)), Ok(&first));
        assert_eq!(place.set(Arc::clone(&second)), Err(Arc::clone(&second)));
        assert_eq!(place.get(), Some(&first));
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (2, 1));
        drop(place);
        assert_eq!(Arc::strong_count(&first), 1);
        drop(FirstUse::<Arc<u32>>::new());
    }

    #[test]
    fn threads_that_store_at_the_same_time_all_find_one_value() {
        let place = FirstUse::new();
        let stored = std::thread::scope(|scope| {
            let set = |own: u32| place.set(Box::new(own)).is_ok();
            let threads: Vec<_> = (0..4).map(|own| scope.spawn(move || set(own))).collect();
            threads.into_iter().map(|it| it.join().expect("no panic")).filter(|it| *it).count()
        });
        assert_eq!(stored, 1);
        assert!(place.get().is_some());
    }
}
