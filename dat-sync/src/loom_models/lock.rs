//! The lock: it admits one thread at a time, and a thread that sleeps for it is woken.
#![allow(unsafe_code, reason = "the lock gives its cell to one thread at a time")]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use loom::cell::Cell;
use loom::sync::atomic::AtomicU32;
use loom::sync::{Condvar, Mutex};
use loom::thread;

use super::large_model;
use crate::lock::word::{FREE, Futex, lock_slowly, try_lock, unlock};

/// A word with the futex of the kernel, which compares and sleeps at once.
struct Word {
    word: AtomicU32,
    kernel: Mutex<()>,
    woken: Condvar,
    /// The `Cell` lets loom detect two threads that are inside at once.
    value: Cell<u32>,
}

// SAFETY: the lock gives the cell to one thread at a time, which loom checks.
unsafe impl Send for Word {}
// SAFETY: as for Send.
unsafe impl Sync for Word {}

impl Futex for Word {
    fn load(&self) -> u32 {
        self.word.load(Ordering::Relaxed)
    }

    fn replace(&self, old: u32, new: u32, order: Ordering) -> bool {
        self.word.compare_exchange(old, new, order, Ordering::Relaxed).is_ok()
    }

    fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.word.swap(value, order)
    }

    fn sleep(&self, value: u32, _: Option<Instant>) -> bool {
        let kernel = self.kernel.lock().expect("no panic");
        if self.word.load(Ordering::SeqCst) == value {
            drop(self.woken.wait(kernel).expect("no panic"));
        }
        true
    }

    fn wake_one(&self) {
        let _kernel = self.kernel.lock().expect("no panic");
        self.woken.notify_one();
    }
}

impl Word {
    fn new() -> Self {
        Self {
            word: AtomicU32::new(FREE),
            kernel: Mutex::new(()),
            woken: Condvar::new(),
            value: Cell::new(0),
        }
    }

    fn add(&self) {
        if !try_lock(self) {
            assert!(lock_slowly(self, None));
        }
        self.value.set(self.value.get() + 1);
        unlock(self);
    }
}

#[test]
fn threads_enter_one_at_a_time_and_none_sleeps_forever() {
    large_model(|| {
        let word = Arc::new(Word::new());
        let others: Vec<_> = (0..2)
            .map(|_| {
                let word = Arc::clone(&word);
                thread::spawn(move || word.add())
            })
            .collect();
        word.add();
        others.into_iter().for_each(|one| one.join().expect("no panic"));
        word.add();
        assert_eq!(word.value.get(), 4);
    });
}

/// Open MPI #13762 (a load before the lock) and #13799 (a lock without order): what a thread reads under the lock is what
/// the holder before has left, and not what was there before.
#[test]
fn ompi_13762_nothing_is_read_before_the_lock() {
    loom::model(|| {
        let word = Arc::new(Word::new());
        let other = {
            let word = Arc::clone(&word);
            thread::spawn(move || word.add())
        };
        // A thread that finds the lock free enters by the first compare-and-exchange alone.
        if try_lock(&*word) {
            let before = word.value.get();
            word.value.set(before + 1);
            unlock(&*word);
        } else {
            word.add();
        }
        other.join().expect("no panic");
        assert_eq!(word.value.get(), 2);
    });
}
