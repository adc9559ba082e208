//! A lock for data that one thread uses for long periods: that thread enters without a locked
//! instruction, and any other thread can still enter at any time.
//!
//! The API lets any thread use any object, but most objects are used by one thread for a long time.
//! So a lock that the same thread took many times in a row becomes *biased* to that thread, which
//! from then on only records in a word of its own that it is inside. Another thread takes the mutex
//! below, revokes the bias, and waits until the owner is outside: it pays a system call
//! ([`fence::heavy`]) so that the owner needs no fence. From then on all threads take the mutex,
//! until one thread has again taken it often enough in a row; each revocation doubles the number
//! that is needed.
//!
//! If the system has no such call, the lock always behaves as a mutex.
#![allow(unsafe_code, reason = "the thread that the lock admits accesses the value")]

pub mod fence;
mod thread;

pub use thread::{token, token_again};

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicUsize, Ordering};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::sync::{Mutex, MutexGuard, pause};

/// A mutual exclusion lock; see the module. The words that the owner uses are adjacent to the
/// beginning of the value.
#[repr(C)]
pub struct BiasedLock<T> {
    /// The token of the thread that may enter without the mutex; [`NO_THREAD`] if there is none.
    /// Changed only under the mutex.
    owner: AtomicUsize,
    /// One of two slots for threads: the owner, and former owners that have not taken the mutex
    /// since and may be about to enter as if they were still owners. A slot holds the token of its
    /// thread, or [`INSIDE`] while that thread is inside or about to find that it must not be. Only
    /// that thread writes it; a free slot holds [`NO_THREAD`], and is taken under the mutex.
    first: AtomicUsize,
    value: UnsafeCell<T>,
    second: AtomicUsize,
    mutex: Mutex<()>,
    /// Protected by the mutex.
    history: Cell<BiasHistory>,
}

/// Tokens that no thread has.
const NO_THREAD: usize = 0;
const INSIDE: usize = 1;

/// The recent takers of the mutex.
#[derive(Clone, Copy)]
struct BiasHistory {
    /// The low bits of the last taker's token. A collision only biases the lock too early.
    last: u32,
    /// Number of times in a row that this thread took the mutex.
    streak: u16,
    /// Number of times in a row after which the lock becomes biased.
    wanted: u16,
}

/// Takes in a row that give a new lock its first owner. An object created by one thread and used by
/// another is then not yet biased to its creator.
const FIRST_STREAK: u16 = if cfg!(any(miri, all(test, loom))) { 2 } else { 32 };
/// Maximum of `wanted`. A revocation costs about as much as 50 takes, so that a lock that is revoked
/// after each such streak loses a small part of its time.
const LONGEST_STREAK: u16 = if cfg!(any(miri, all(test, loom))) { 2 } else { 1 << 10 };

// SAFETY: the lock gives the value to one thread at a time, which may be any thread.
unsafe impl<T: Send> Send for BiasedLock<T> {}
// SAFETY: references to the value come only from the guards, one at a time, and `history` is
// accessed only by the holder of the mutex.
unsafe impl<T: Send> Sync for BiasedLock<T> {}

impl<T> BiasedLock<T> {
    /// Creates a lock around a value.
    pub fn new(value: T) -> Self {
        let history = BiasHistory { last: 0, streak: 0, wanted: FIRST_STREAK };
        Self {
            owner: AtomicUsize::new(NO_THREAD),
            first: AtomicUsize::new(NO_THREAD),
            second: AtomicUsize::new(NO_THREAD),
            mutex: Mutex::new(()),
            history: Cell::new(history),
            value: UnsafeCell::new(value),
        }
    }

    /// Enters, after any thread inside has left.
    #[inline]
    pub fn lock(&self) -> BiasedGuard<'_, T> {
        let me = token();
        match self.enter(me) {
            Some(slot) => BiasedGuard::new(self, Entry::Owner(slot)),
            None => self.lock_with_mutex(me),
        }
    }

    /// Enters if the lock is biased to this thread, without a function call. If it is not, nothing
    /// has happened, and any thread can use [`lock`](Self::lock).
    #[inline(always)]
    pub fn lock_as_owner(&self) -> Option<OwnerGuard<'_, T>> {
        let slot = self.enter(token())?;
        Some(OwnerGuard { lock: self, slot, value: PhantomData })
    }

    /// Enters if this thread is the owner; returns its slot. An owner that is inside already does
    /// not find its slot, and then deadlocks on the mutex path.
    #[inline(always)]
    fn enter(&self, me: usize) -> Option<&AtomicUsize> {
        let slot = if self.first.load(Ordering::Relaxed) == me {
            &self.first
        } else if self.second.load(Ordering::Relaxed) == me {
            &self.second
        } else {
            return None;
        };
        slot.store(INSIDE, Ordering::Relaxed);
        // Pairs with `fence::heavy` of `revoke`, and of the callers of `synchronize`.
        fence::light();
        if self.owner.load(Ordering::Relaxed) == me {
            return Some(slot);
        }
        // Pairs with `await_owner`.
        slot.store(me, Ordering::Release);
        None
    }

    /// Enters if this thread is the owner, or if there is no owner and no thread is inside. A lock
    /// that is biased to another thread counts as taken.
    pub fn try_lock(&self) -> Option<BiasedGuard<'_, T>> {
        let me = token();
        if let Some(slot) = self.enter(me) {
            return Some(BiasedGuard::new(self, Entry::Owner(slot)));
        }
        let mutex = self.mutex.try_lock()?;
        let is_free = self.owner.load(Ordering::Relaxed) == NO_THREAD;
        is_free.then(|| self.take_mutex(me, mutex))
    }

    #[cold]
    #[inline(never)]
    fn lock_with_mutex(&self, me: usize) -> BiasedGuard<'_, T> {
        self.take_mutex(me, self.mutex.lock())
    }

    /// Enters with the mutex, after revoking the bias to another thread.
    fn take_mutex<'a>(&'a self, me: usize, mutex: MutexGuard<'a, ()>) -> BiasedGuard<'a, T> {
        let mut history = self.history.get();
        let owner = self.owner.load(Ordering::Relaxed);
        if owner != NO_THREAD {
            self.revoke(&mut history);
        }
        // This thread is no longer an owner, and knows it: free its slot.
        if let Some(slot) = self.slot_of(me) {
            slot.store(NO_THREAD, Ordering::Relaxed);
        }
        // Tokens are even.
        let last = (me / 2) as u32;
        history.streak = if history.last == last { history.streak.saturating_add(1) } else { 1 };
        history.last = last;
        let slot = if history.streak >= history.wanted && fence::is_available() {
            // Former owners that have not entered since may occupy both slots.
            self.slot_of(NO_THREAD)
        } else {
            None
        };
        self.history.set(history);
        let Some(slot) = slot else { return BiasedGuard::new(self, Entry::Mutex(mutex)) };
        // From here on this thread is inside as the owner; the mutex makes both stores visible to
        // the next taker.
        slot.store(INSIDE, Ordering::Relaxed);
        self.owner.store(me, Ordering::Relaxed);
        drop(mutex);
        BiasedGuard::new(self, Entry::Owner(slot))
    }

    /// The slot that holds this token.
    fn slot_of(&self, thread: usize) -> Option<&AtomicUsize> {
        [&self.first, &self.second].into_iter().find(|slot| slot.load(Ordering::Relaxed) == thread)
    }

    /// Revokes the bias; the caller holds the mutex.
    fn revoke(&self, history: &mut BiasHistory) {
        self.owner.store(NO_THREAD, Ordering::Relaxed);
        // Pairs with the light fence of `enter`.
        fence::heavy();
        self.await_owner();
        history.streak = 0;
        history.wanted = history.wanted.saturating_mul(2).min(LONGEST_STREAK);
    }

    /// Waits until an owner that was inside before the last heavy fence has left; others are about
    /// to step back. Acquire pairs with the Release store of the leaving owner.
    fn await_owner(&self) {
        for slot in [&self.first, &self.second] {
            let mut turn = 0;
            while slot.load(Ordering::Acquire) == INSIDE {
                pause(&mut turn);
            }
        }
    }

    /// Waits until any thread inside has left, and keeps the bias. After a [`fence::heavy`] this is
    /// a grace period: a critical section that did not see the caller's stores before that fence is
    /// over when this returns.
    ///
    /// The caller must not be inside.
    pub fn synchronize(&self) {
        let mutex = self.mutex.lock();
        let owner = self.owner.load(Ordering::Relaxed);
        if owner != NO_THREAD && owner != token() {
            self.await_owner();
        }
        drop(mutex);
    }

    /// As [`synchronize`](Self::synchronize) but without a heavy fence, for a lock that is not biased to another
    /// thread. Returns whether it was a grace period: the mutex orders the caller's stores before
    /// every later critical section, except those of an owner, which enters without it.
    ///
    /// The caller must not be inside.
    pub fn synchronize_without_fence(&self) -> bool {
        let mutex = self.mutex.lock();
        let owner = self.owner.load(Ordering::Relaxed);
        drop(mutex);
        owner == NO_THREAD || owner == token()
    }

    /// The value, through an exclusive reference to the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: Default> Default for BiasedLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> fmt::Debug for BiasedLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let biased = self.owner.load(Ordering::Relaxed) != NO_THREAD;
        f.debug_struct("BiasedLock").field("biased", &biased).finish_non_exhaustive()
    }
}

/// Grants access to the value of a [`BiasedLock`].
pub struct BiasedGuard<'a, T> {
    lock: &'a BiasedLock<T>,
    entry: Entry<'a>,
    /// Acts as an exclusive reference to the value.
    value: PhantomData<&'a mut T>,
}

/// How the thread entered.
enum Entry<'a> {
    /// Through its slot.
    Owner(&'a AtomicUsize),
    Mutex(#[expect(dead_code, reason = "its drop is what it is for")] MutexGuard<'a, ()>),
}

impl<'a, T> BiasedGuard<'a, T> {
    #[inline]
    fn new(lock: &'a BiasedLock<T>, entry: Entry<'a>) -> Self {
        Self { lock, entry, value: PhantomData }
    }
}

impl<T> Deref for BiasedGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread is inside: it holds the mutex with no owner inside, or it is the
        // owner, and the holder of the mutex waits until it leaves.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for BiasedGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread is inside, as in `deref`, and the guard is borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for BiasedGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if let Entry::Owner(slot) = self.entry {
            // Release: the accesses inside happen before those of a thread that sees this store.
            slot.store(token_again(), Ordering::Release);
        }
    }
}

impl<T> fmt::Debug for BiasedGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BiasedGuard").finish_non_exhaustive()
    }
}

/// Grants the owner access to the value of a [`BiasedLock`].
pub struct OwnerGuard<'a, T> {
    lock: &'a BiasedLock<T>,
    slot: &'a AtomicUsize,
    /// Acts as an exclusive reference to the value, in this thread only.
    value: PhantomData<(&'a mut T, *const ())>,
}

impl<T> Deref for OwnerGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this thread is inside as the owner, and the holder of the mutex waits until it
        // leaves.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for OwnerGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread is inside as the owner, and the guard is borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for OwnerGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // Release: the accesses inside happen before those of a thread that sees this store.
        self.slot.store(token_again(), Ordering::Release);
    }
}

impl<T> fmt::Debug for OwnerGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnerGuard").finish_non_exhaustive()
    }
}
