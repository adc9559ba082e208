//! The protocol of a lock: a word that is free, held, or held with threads that may sleep on it.

use std::sync::atomic::Ordering;
use std::time::Instant;

pub(crate) const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and the thread that frees it wakes another one.
const AWAITED: u32 = 2;

/// How often a thread checks a held lock before it sleeps.
const SPINS: u32 = if cfg!(all(test, loom)) { 0 } else { 100 };

/// A word on which threads sleep.
pub(crate) trait Futex {
    /// Its value, without order.
    fn load(&self) -> u32;

    /// Replaces one value by another, with that order; returns whether that succeeded.
    fn replace(&self, old: u32, new: u32, order: Ordering) -> bool;

    /// Stores a value and returns the former one.
    fn swap(&self, value: u32, order: Ordering) -> u32;

    /// Sleeps while the word has that value, at most until the deadline; may return early. Returns
    /// false once the deadline has expired.
    fn sleep(&self, value: u32, deadline: Option<Instant>) -> bool;

    /// Wakes one of the threads that sleep.
    fn wake_one(&self);
}

#[inline]
pub(crate) fn try_lock(word: &impl Futex) -> bool {
    // Acquire: pairs with `unlock`.
    word.replace(FREE, HELD, Ordering::Acquire)
}

/// Locks after [`try_lock`] failed. Returns false if the deadline came first.
#[cold]
#[inline(never)]
pub(crate) fn lock_slowly(word: &impl Futex, deadline: Option<Instant>) -> bool {
    let mut state = spin(word);
    if state == FREE && try_lock(word) {
        return true;
    }
    loop {
        // Others may sleep too, so the lock stays awaited while this thread holds it. Acquire: pairs with `unlock`.
        if state != AWAITED && word.swap(AWAITED, Ordering::Acquire) == FREE {
            return true;
        }
        if !word.sleep(AWAITED, deadline) {
            return false;
        }
        state = spin(word);
    }
}

#[inline]
pub(crate) fn unlock(word: &impl Futex) {
    // Release: pairs with the takes of the next holder. If the word is awaited, the kernel reads it after this.
    if word.swap(FREE, Ordering::Release) == AWAITED {
        wake(word);
    }
}

#[cold]
#[inline(never)]
fn wake(word: &impl Futex) {
    word.wake_one();
}

/// Waits for a short time until the lock is free or awaited; returns its state.
fn spin(word: &impl Futex) -> u32 {
    for _ in 0..SPINS {
        let state = word.load();
        if state != HELD {
            return state;
        }
        std::hint::spin_loop();
    }
    word.load()
}
