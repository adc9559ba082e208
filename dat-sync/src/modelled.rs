//! Replacements for locks and tables in the models of `.ci/loom`.

#![allow(
    missing_docs,
    missing_debug_implementations,
    clippy::missing_panics_doc,
    reason = "built for models only"
)]

use std::ops::{Deref, DerefMut};

/// A mutex without poisoning: a model ends with the first panic.
#[derive(Debug, Default)]
pub struct Mutex<T> {
    inner: loom::sync::Mutex<T>,
}

/// The guard of the lock.
pub struct MutexGuard<'a, T>(loom::sync::MutexGuard<'a, T>);

const NO_PANIC: &str = "no model goes on after a panic";

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Self { inner: loom::sync::Mutex::new(value) }
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(self.inner.lock().expect(NO_PANIC))
    }

    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.inner.try_lock().ok().map(MutexGuard)
    }

    /// As `BiasedLock::lock_as_owner`.
    pub fn lock_as_owner(&self) -> Option<MutexGuard<'_, T>> {
        Some(self.lock())
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// Lets a thread proceed for which this one waits without a lock.
pub fn pause(_turn: &mut u32) {
    loom::thread::yield_now();
}

/// A table of few slots with the interface of [`Chunks`](crate::pages::Chunks).
#[derive(Debug)]
pub struct Chunks<T>(Vec<T>);

impl<T: Default> Chunks<T> {
    const SLOTS: usize = 3;

    pub fn new() -> Self {
        Self((0..Self::SLOTS).map(|_| T::default()).collect())
    }

    pub fn get(&self, index: u32) -> Option<&T> {
        self.0.get(index as usize)
    }

    pub fn make(&self, index: u32) -> Option<&T> {
        self.get(index)
    }
}
