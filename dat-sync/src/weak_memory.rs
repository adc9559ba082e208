//! Threads that share memory without a lock, each for a few steps. `.ci/miri` runs these tests with many seeds, and each
//! run has another order of the threads, and of what each of them sees of the others' stores.
#![allow(unsafe_code, reason = "memory that a word protects is shared between threads")]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use crate::biased::{BiasedLock, fence};
use crate::lock::Mutex;
use crate::region_table::{Region, RegionTable};
use crate::{Epochs, Lazy, SlabArc, SwapWord};

/// Memory without atomics: Miri reports two accesses that are not ordered.
#[derive(Default)]
struct Plain(UnsafeCell<u32>);

// SAFETY: each test orders the accesses, which Miri checks.
unsafe impl Sync for Plain {}

impl Plain {
    fn add(&self) -> u32 {
        // SAFETY: as for `Sync`.
        let place = unsafe { &mut *self.0.get() };
        *place += 1;
        *place
    }
}

#[test]
fn the_owner_of_a_biased_lock_and_another_thread_are_never_inside_at_once() {
    let lock = BiasedLock::new(Plain::default());
    let enter = || {
        if let Some(value) = lock.lock_as_owner() {
            return value.add();
        }
        lock.lock().add()
    };
    thread::scope(|scope| {
        scope.spawn(|| (0..4).for_each(|_| _ = enter()));
        scope.spawn(|| (0..3).for_each(|_| _ = enter()));
        (0..4).for_each(|_| _ = enter());
    });
    assert_eq!(enter(), 12);
}

#[test]
fn a_lock_shows_what_its_holders_have_left() {
    let lock = Mutex::new(Plain::default());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..3).for_each(|_| _ = lock.lock().add()));
        }
    });
    assert_eq!(lock.lock().add(), 10);
}

/// Open MPI #13761.
#[test]
fn ompi_13761_no_wake_up_is_lost() {
    let (word, work) = (SwapWord::new(1), AtomicU32::new(0));
    let (is_woken, is_found) = thread::scope(|scope| {
        let waker = scope.spawn(|| {
            work.store(1, Ordering::Relaxed);
            word.swap(1) == 0
        });
        word.swap(0);
        let is_found = work.load(Ordering::Relaxed) == 1;
        (waker.join().expect("no panic"), is_found)
    });
    assert!(is_woken || is_found);
}

#[test]
fn a_removed_region_is_not_used_after_the_copies_have_ended() {
    let (table, epochs) = (RegionTable::new(), Epochs::default());
    let (copies, memory) = (BiasedLock::new(()), Plain::default());
    let region = |value| Region { address: 100, length: 10, owner: 1, value, access: 1 };
    let context = table.insert(region(7)).expect("room");
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..4 {
                let checked = epochs.now();
                let found = table.find(context, 1, 1, 100, 10);
                let guard = copies.lock();
                let is_valid = epochs.is_current(checked.number()) && found.is_some();
                if is_valid || table.find(context, 1, 1, 100, 10) == Some(7) {
                    memory.add();
                }
                drop(guard);
            }
        });
        assert!(table.remove(context));
        epochs.end();
        fence::heavy();
        copies.synchronize();
        memory.add();
        let next = table.insert(region(8)).expect("room");
        assert_eq!(table.find(next, 1, 1, 100, 10), Some(8));
    });
}

#[test]
fn the_last_reference_drops_what_all_threads_have_done() {
    let shared = SlabArc::new(Plain::default());
    let weak = SlabArc::downgrade(&shared);
    let turn = Mutex::new(());
    thread::scope(|scope| {
        for mine in [shared.clone(), shared] {
            let turn = &turn;
            scope.spawn(move || {
                let _turn = turn.lock();
                mine.add();
            });
        }
        let turn = &turn;
        scope.spawn(move || {
            if let Some(mine) = weak.upgrade() {
                let _turn = turn.lock();
                mine.add();
            }
        });
    });
}

#[test]
fn a_value_of_the_first_use_is_complete() {
    static VALUE: Lazy<Vec<u32>> = Lazy::new(|| vec![1, 2]);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(*VALUE, [1, 2]));
        }
    });
}
