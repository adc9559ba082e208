//! The word by which threads hand something over.

use std::sync::Arc;

use loom::model;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

use crate::swap_word::SwapWord;

/// Open MPI #13761: both sides of a wait missed each other on arm64. Here, what was handed over before a swap is found
/// after the other swap, or the first thread finds that it must wake the other one.
#[test]
fn ompi_13761_no_wake_up_is_lost() {
    model(|| {
        // The sleeper was woken before, and is about to look for work.
        let shared = Arc::new((SwapWord::new(1), AtomicBool::new(false)));
        let far = Arc::clone(&shared);
        let waker = thread::spawn(move || {
            far.1.store(true, Ordering::Relaxed);
            far.0.swap(1) == 0
        });
        shared.0.swap(0);
        let is_found = shared.1.load(Ordering::Relaxed);
        let is_woken = waker.join().expect("no panic");
        assert!(is_found || is_woken, "the sleeper sleeps, and nothing wakes it");
    });
}

/// Two threads give up a turn at the same time, one because there is no more use for it: exactly one of them does what
/// must be done once.
#[test]
fn one_of_two_threads_does_what_is_left() {
    const TAKEN: u8 = 1;
    model(|| {
        let shared = Arc::new((SwapWord::new(TAKEN), AtomicBool::new(false)));
        let far = Arc::clone(&shared);
        let ending = thread::spawn(move || {
            far.1.store(true, Ordering::Relaxed);
            u32::from(far.0.swap(TAKEN) != TAKEN)
        });
        shared.0.swap(0);
        let is_over = shared.1.load(Ordering::Relaxed);
        let own = u32::from(is_over && shared.0.swap(TAKEN) != TAKEN);
        assert_eq!(own + ending.join().expect("no panic"), 1);
    });
}
