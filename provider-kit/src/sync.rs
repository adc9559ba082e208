//! The locks and atomics of the data path, or their replacements in the models of `.ci/loom`.

#[cfg(not(all(test, loom)))]
pub use dat_sync::biased::{BiasedGuard, BiasedLock, OwnerGuard, fence};
#[cfg(all(test, loom))]
pub use modelled::{BiasedGuard, BiasedLock, OwnerGuard, fence};

/// A fence that orders earlier stores of this thread before its later loads.
#[inline(always)]
pub(crate) fn full_fence() {
    #[cfg(all(test, loom))]
    loom::sync::atomic::fence(atomic::Ordering::SeqCst);
    #[cfg(not(all(test, loom)))]
    std::sync::atomic::fence(atomic::Ordering::SeqCst);
}

/// The atomics.
pub mod atomic {
    #[cfg(all(test, loom))]
    pub use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
    #[cfg(not(all(test, loom)))]
    pub use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
}

#[cfg(all(test, loom))]
#[expect(missing_docs, reason = "the interface of dat_sync::biased, which documents it")]
mod modelled {
    /// A replacement for models, with the methods used here. The lock itself is modelled in dat-sync.
    #[derive(Debug)]
    pub struct BiasedLock<T>(loom::sync::Mutex<T>);

    pub type BiasedGuard<'a, T> = loom::sync::MutexGuard<'a, T>;
    pub type OwnerGuard<'a, T> = loom::sync::MutexGuard<'a, T>;

    impl<T> BiasedLock<T> {
        pub fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> BiasedGuard<'_, T> {
            self.0.lock().expect("no model goes on after a panic")
        }

        pub fn try_lock(&self) -> Option<BiasedGuard<'_, T>> {
            self.0.try_lock().ok()
        }

        pub fn lock_as_owner(&self) -> Option<BiasedGuard<'_, T>> {
            Some(self.lock())
        }

        pub fn synchronize(&self) {
            drop(self.lock());
        }

        /// A mutex orders all sections, so passing it is always enough.
        pub fn synchronize_without_fence(&self) -> bool {
            self.synchronize();
            true
        }
    }

    pub mod fence {
        use loom::sync::atomic::{Ordering, fence};

        pub fn is_available() -> bool {
            true
        }

        pub fn light() {
            fence(Ordering::SeqCst);
        }

        pub fn heavy() {
            fence(Ordering::SeqCst);
        }
    }
}
