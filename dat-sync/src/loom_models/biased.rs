//! The biased lock: it admits one thread at a time, whichever thread owns the bias.

use std::sync::Arc;

use loom::cell::Cell;
use loom::thread;

use super::large_model;
use crate::biased::{BiasedLock, fence};

/// The `Cell` lets loom detect two threads that are inside at once.
fn add(lock: &BiasedLock<Cell<u32>>) {
    // As the data path does it: a refusal must change nothing.
    if let Some(guard) = lock.lock_as_owner() {
        guard.set(guard.get() + 1);
        return;
    }
    let guard = lock.lock();
    guard.set(guard.get() + 1);
}

#[test]
fn the_owner_and_another_are_never_inside_at_once() {
    large_model(|| {
        let lock = Arc::new(BiasedLock::new(Cell::new(0)));
        // Two takes in a row give the bias.
        add(&lock);
        add(&lock);
        let other = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || add(&lock))
        };
        add(&lock);
        add(&lock);
        other.join().expect("no panic");
        assert_eq!(lock.lock().get(), 5);
    });
}

/// The owner loses the bias while it is about to enter, and continues when another thread owns the
/// lock. When it steps back, it must not admit a further thread.
#[test]
fn a_late_former_owner_does_not_disturb_the_next_one() {
    large_model(|| {
        let lock = Arc::new(BiasedLock::new(Cell::new(0)));
        add(&lock);
        add(&lock);
        let other = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || (0..4).for_each(|_| add(&lock)))
        };
        add(&lock);
        other.join().expect("no panic");
        assert_eq!(lock.lock().get(), 7);
    });
}

#[test]
fn the_bias_moves_between_threads() {
    large_model(|| {
        let lock = Arc::new(BiasedLock::new(Cell::new(0)));
        let other = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || (0..3).for_each(|_| add(&lock)))
        };
        (0..3).for_each(|_| add(&lock));
        other.join().expect("no panic");
        assert_eq!(lock.lock().get(), 6);
    });
}

#[test]
fn a_pass_returns_after_every_section_that_missed_the_announcement() {
    use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    large_model(|| {
        let lock = Arc::new(BiasedLock::new(()));
        let removed = Arc::new(AtomicBool::new(false));
        let memory = Arc::new(AtomicU32::new(0));
        drop(lock.lock());
        drop(lock.lock());
        let remover = {
            let (lock, removed, memory) = (lock.clone(), removed.clone(), memory.clone());
            thread::spawn(move || {
                removed.store(true, Ordering::Relaxed);
                fence::heavy();
                lock.synchronize();
                // The memory is no longer in use.
                memory.store(1, Ordering::Relaxed);
            })
        };
        for _ in 0..2 {
            let guard = lock.lock();
            if !removed.load(Ordering::Relaxed) {
                assert_eq!(memory.load(Ordering::Relaxed), 0);
            }
            drop(guard);
        }
        remover.join().expect("no panic");
    });
}

/// `synchronize_without_fence` on a lock that is not biased to another thread, while a thread that was not
/// its owner becomes the owner.
#[test]
fn a_pass_without_a_fence_needs_that_no_other_thread_is_the_owner() {
    use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    large_model(|| {
        let lock = Arc::new(BiasedLock::new(()));
        let removed = Arc::new(AtomicBool::new(false));
        let memory = Arc::new(AtomicU32::new(0));
        drop(lock.lock());
        let remover = {
            let (lock, removed, memory) = (lock.clone(), removed.clone(), memory.clone());
            thread::spawn(move || {
                removed.store(true, Ordering::Relaxed);
                if !lock.synchronize_without_fence() {
                    fence::heavy();
                    lock.synchronize();
                }
                memory.store(1, Ordering::Relaxed);
            })
        };
        for _ in 0..2 {
            let guard = lock.lock();
            if !removed.load(Ordering::Relaxed) {
                assert_eq!(memory.load(Ordering::Relaxed), 0);
            }
            drop(guard);
        }
        remover.join().expect("no panic");
    });
}
