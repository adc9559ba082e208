//! The locks and atomics of the data path; in the models of `.ci/loom` those of loom.

#[cfg(not(all(test, loom)))]
pub(crate) use dat_sync::biased::{BiasedGuard, BiasedLock, OwnerGuard, fence};
#[cfg(all(test, loom))]
pub(crate) use modelled::{BiasedGuard, BiasedLock, OwnerGuard, fence};

pub(crate) mod atomic {
    #[cfg(all(test, loom))]
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
    #[cfg(not(all(test, loom)))]
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
}

#[cfg(all(test, loom))]
mod modelled {
    /// As much of the lock as is used; it has a model of its own in dat-core.
    #[derive(Debug)]
    pub(crate) struct BiasedLock<T>(loom::sync::Mutex<T>);

    pub(crate) type BiasedGuard<'a, T> = loom::sync::MutexGuard<'a, T>;
    pub(crate) type OwnerGuard<'a, T> = loom::sync::MutexGuard<'a, T>;

    impl<T> BiasedLock<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> BiasedGuard<'_, T> {
            self.0.lock().expect("no model goes on after a panic")
        }

        pub(crate) fn lock_as_owner(&self) -> Option<BiasedGuard<'_, T>> {
            Some(self.lock())
        }

        pub(crate) fn pass(&self) {
            drop(self.lock());
        }

        /// A mutex orders all sections, so passing it is always enough.
        pub(crate) fn pass_without_fence(&self) -> bool {
            self.pass();
            true
        }
    }

    pub(crate) mod fence {
        use loom::sync::atomic::{Ordering, fence};

        pub(crate) fn is_available() -> bool {
            true
        }

        pub(crate) fn light() {
            fence(Ordering::SeqCst);
        }

        pub(crate) fn heavy() {
            fence(Ordering::SeqCst);
        }
    }
}
