//! The epochs of an adapter's memory: memory checked in an epoch that has not ended is not freed
//! while the lock that a deregistration passes is held.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::thread;

use super::large_model;
use crate::Epochs;
use crate::biased::{BiasedLock, fence};

/// A region, and the lock that is held while its memory is copied.
struct Adapter {
    lock: BiasedLock<()>,
    epochs: Epochs,
    is_registered: AtomicBool,
    /// loom reports an access that is concurrent with the free.
    memory: UnsafeCell<u32>,
    /// The epoch of a posted receive; 0 before.
    posted: AtomicU64,
}

// SAFETY: loom checks every access to the memory, which is the purpose of the models.
#[expect(unsafe_code, reason = "the memory of a model is reached as registered memory is")]
unsafe impl Sync for Adapter {}

impl Adapter {
    fn new() -> Arc<Self> {
        let adapter = Self {
            lock: BiasedLock::new(()),
            epochs: Epochs::default(),
            is_registered: AtomicBool::new(true),
            memory: UnsafeCell::new(0),
            posted: AtomicU64::new(0),
        };
        // Two takes in a row give the bias.
        drop(adapter.lock.lock());
        drop(adapter.lock.lock());
        Arc::new(adapter)
    }

    /// What the core does for a post: it reads the epoch first, then looks the region up.
    fn check(&self) -> Option<u64> {
        let checked = self.epochs.now().number();
        self.is_registered.load(Ordering::Acquire).then_some(checked)
    }

    /// What a provider does that copies data.
    fn copy(&self, checked: u64) {
        let guard = self.lock.lock();
        if self.epochs.is_current(checked) {
            self.memory.with(|memory| {
                // SAFETY: loom reports this access if it races with the free.
                #[expect(unsafe_code, reason = "as above")]
                let value = unsafe { *memory };
                assert_eq!(value, 0, "freed memory was copied");
            });
        }
        drop(guard);
    }

    /// Frees the region, and then its memory.
    fn free(&self) {
        self.is_registered.store(false, Ordering::Relaxed);
        self.epochs.end();
        fence::heavy();
        self.lock.synchronize();
        self.memory.with_mut(|memory| {
            // SAFETY: loom reports this access if it races with another one.
            #[expect(unsafe_code, reason = "as above")]
            let memory = unsafe { &mut *memory };
            *memory = 1;
        });
    }
}

#[test]
fn a_request_is_done_in_its_epoch_or_looked_up_again() {
    large_model(|| {
        let adapter = Adapter::new();
        let freer = {
            let adapter = Arc::clone(&adapter);
            thread::spawn(move || adapter.free())
        };
        for _ in 0..2 {
            if let Some(checked) = adapter.check() {
                adapter.copy(checked);
            }
        }
        freer.join().expect("no panic");
    });
}

#[test]
fn a_receive_that_was_posted_before_is_not_filled_after_its_epoch() {
    large_model(|| {
        let adapter = Adapter::new();
        let poster = {
            let adapter = Arc::clone(&adapter);
            thread::spawn(move || {
                if let Some(checked) = adapter.check() {
                    adapter.posted.store(checked, Ordering::Release);
                }
            })
        };
        let freer = {
            let adapter = Arc::clone(&adapter);
            thread::spawn(move || adapter.free())
        };
        for _ in 0..2 {
            match adapter.posted.load(Ordering::Acquire) {
                0 => thread::yield_now(),
                checked => adapter.copy(checked),
            }
        }
        poster.join().expect("no panic");
        freer.join().expect("no panic");
    });
}
