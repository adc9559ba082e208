//! A lock for what one thread at a time uses for long: that thread enters without a locked
//! instruction, and any other still can enter at any time.
//!
//! The API lets any thread use any object, but most objects are used by one thread, for long.
//! So a lock that the same thread took many times in a row becomes *biased* to that thread,
//! which from then on only says in a word of its own that it is inside. Another thread that
//! comes takes the mutex below, takes the bias away, and waits until the owner is outside: it
//! pays a system call ([`fence::heavy`]) so that the owner needs no fence. From then on
//! everybody takes the mutex, until again one thread took it so many times in a row; each
//! change of hands doubles how many.
//!
//! Where the system has no such call the lock is a mutex for ever.
#![allow(unsafe_code, reason = "the value is reached by whoever the lock lets in")]

pub mod fence;
mod thread;

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::sync::{Mutex, MutexGuard, pause};

/// A mutual exclusion; see the module.
pub struct BiasedLock<T> {
    /// Which thread may enter without the mutex; [`NOBODY`] when none may. Changed under the
    /// mutex only.
    owner: AtomicUsize,
    /// Whether the owner is inside without the mutex; nobody else writes it.
    inside: AtomicBool,
    habit: Mutex<Habit>,
    value: UnsafeCell<T>,
}

const NOBODY: usize = 0;

/// Who took the mutex lately.
struct Habit {
    last: usize,
    /// How many times in a row.
    streak: u32,
    /// How many it takes for the bias.
    wanted: u32,
}

/// As many takes in a row give a new lock its first owner. What is made by one thread and used
/// by another is then not yet biased to its maker.
const FIRST_STREAK: u32 = if cfg!(all(test, loom)) { 2 } else { 32 };
/// As many are enough at the most: a revocation costs about as much as 50 takes.
const LONGEST_STREAK: u32 = 1 << 16;

// SAFETY: the lock hands the value to one thread at a time, which may be any.
unsafe impl<T: Send> Send for BiasedLock<T> {}
// SAFETY: as for Send; references to the value come only from the guard, one at a time.
unsafe impl<T: Send> Sync for BiasedLock<T> {}

impl<T> BiasedLock<T> {
    /// A lock around a value.
    pub fn new(value: T) -> Self {
        let habit = Habit { last: NOBODY, streak: 0, wanted: FIRST_STREAK };
        Self {
            owner: AtomicUsize::new(NOBODY),
            inside: AtomicBool::new(false),
            habit: Mutex::new(habit),
            value: UnsafeCell::new(value),
        }
    }

    /// Enters, after whoever is inside has left.
    #[inline]
    pub fn lock(&self) -> BiasedGuard<'_, T> {
        let me = thread::token();
        if self.enter(me) {
            return BiasedGuard::new(self, None);
        }
        self.lock_with_mutex(me)
    }

    /// Enters if the lock is biased to this thread, which is what a path without calls can do;
    /// otherwise nothing has happened, and [`lock`](Self::lock) is there for everybody.
    #[inline(always)]
    pub fn lock_as_owner(&self) -> Option<OwnerGuard<'_, T>> {
        // A guard is made only inside: even one that is dropped at once leaves.
        if self.enter(thread::token()) {
            return Some(OwnerGuard { lock: self, value: PhantomData });
        }
        None
    }

    /// Enters as the owner; whether this thread is.
    #[inline(always)]
    fn enter(&self, me: usize) -> bool {
        // An owner that is inside already would wait for itself, with the mutex.
        if self.owner.load(Ordering::Relaxed) == me && !self.inside.load(Ordering::Relaxed) {
            self.inside.store(true, Ordering::Relaxed);
            fence::light();
            if self.owner.load(Ordering::Relaxed) == me {
                return true;
            }
            self.inside.store(false, Ordering::Release);
        }
        false
    }

    #[cold]
    #[inline(never)]
    fn lock_with_mutex(&self, me: usize) -> BiasedGuard<'_, T> {
        let mut habit = self.habit.lock();
        if self.owner.load(Ordering::Relaxed) != NOBODY {
            self.revoke(&mut habit);
        }
        if habit.last == me {
            habit.streak += 1;
            if habit.streak >= habit.wanted && fence::is_available() {
                // From here on it is inside as its owner; the mutex shows both to the next.
                self.inside.store(true, Ordering::Relaxed);
                self.owner.store(me, Ordering::Relaxed);
                drop(habit);
                return BiasedGuard::new(self, None);
            }
        } else {
            habit.last = me;
            habit.streak = 1;
        }
        BiasedGuard::new(self, Some(habit))
    }

    /// Takes the bias away, with the mutex held.
    fn revoke(&self, habit: &mut Habit) {
        self.owner.store(NOBODY, Ordering::Relaxed);
        fence::heavy();
        self.await_owner();
        habit.streak = 0;
        habit.wanted = (habit.wanted * 2).min(LONGEST_STREAK);
    }

    /// Waits until an owner that was inside before the last heavy fence has left. Acquire: what
    /// it did inside has then happened.
    fn await_owner(&self) {
        let mut turn = 0;
        while self.inside.load(Ordering::Acquire) {
            pause(&mut turn);
        }
    }

    /// Waits until whoever was inside has left, and leaves the bias as it is. With
    /// [`fence::heavy`] before it this is a grace period: a section that did not see what the
    /// caller stored before that fence is over when this returns.
    ///
    /// To be called from outside.
    pub fn pass(&self) {
        let habit = self.habit.lock();
        if self.owner.load(Ordering::Relaxed) != thread::token() {
            self.await_owner();
        }
        drop(habit);
    }

    /// The value, by the only one who has the lock.
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
        let biased = self.owner.load(Ordering::Relaxed) != NOBODY;
        f.debug_struct("BiasedLock").field("biased", &biased).finish_non_exhaustive()
    }
}

/// Being inside of a [`BiasedLock`].
pub struct BiasedGuard<'a, T> {
    lock: &'a BiasedLock<T>,
    /// Absent when the owner entered without it.
    mutex: Option<MutexGuard<'a, Habit>>,
    /// It gives what an exclusive reference gives.
    value: PhantomData<&'a mut T>,
}

impl<'a, T> BiasedGuard<'a, T> {
    #[inline]
    fn new(lock: &'a BiasedLock<T>, mutex: Option<MutexGuard<'a, Habit>>) -> Self {
        Self { lock, mutex, value: PhantomData }
    }
}

impl<T> Deref for BiasedGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard's thread is inside: it holds the mutex with no owner inside, or it
        // is the owner, and whoever has the mutex waits for it.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for BiasedGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for deref, and the guard is borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for BiasedGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.mutex.is_none() {
            // Release: what was done inside comes before whoever sees it.
            self.lock.inside.store(false, Ordering::Release);
        }
    }
}

impl<T> fmt::Debug for BiasedGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BiasedGuard").finish_non_exhaustive()
    }
}

/// Being inside of a [`BiasedLock`] as its owner.
pub struct OwnerGuard<'a, T> {
    lock: &'a BiasedLock<T>,
    /// It gives what an exclusive reference gives, to this thread only.
    value: PhantomData<(&'a mut T, *const ())>,
}

impl<T> Deref for OwnerGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard's thread is inside as the owner, and whoever has the mutex waits.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for OwnerGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for deref, and the guard is borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for OwnerGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // Release: what was done inside comes before whoever sees it.
        self.lock.inside.store(false, Ordering::Release);
    }
}

impl<T> fmt::Debug for OwnerGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnerGuard").finish_non_exhaustive()
    }
}
