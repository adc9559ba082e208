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

/// A mutual exclusion; see the module. What its owner uses is side by side with the beginning of
/// the value.
#[repr(C)]
pub struct BiasedLock<T> {
    /// Which thread may enter without the mutex; [`NOBODY`] when none may. Changed under the mutex
    /// only.
    owner: AtomicUsize,
    /// One of two places of threads: the owner's, and of former owners that have not taken the
    /// mutex since, and so may be about to enter as if they still were. In a place is the number of
    /// its thread, or [`INSIDE`] while that is inside, or about to find that it must not be. It is
    /// written by that thread only; one that is free says [`NOBODY`], and is taken under the mutex.
    first: AtomicUsize,
    value: UnsafeCell<T>,
    second: AtomicUsize,
    mutex: Mutex<()>,
    /// Under the mutex.
    habit: Cell<Habit>,
}

/// Numbers that no thread has.
const NOBODY: usize = 0;
const INSIDE: usize = 1;

/// Who took the mutex lately.
#[derive(Clone, Copy)]
struct Habit {
    /// Who took the mutex last, by the end of its number: a mistake gives a bias too early.
    last: u32,
    /// How many times in a row.
    streak: u16,
    /// How many it takes for the bias.
    wanted: u16,
}

/// As many takes in a row give a new lock its first owner. What is made by one thread and used
/// by another is then not yet biased to its maker.
const FIRST_STREAK: u16 = if cfg!(all(test, loom)) { 2 } else { 32 };
/// As many are enough at the most: a revocation costs about as much as 50 takes.
const LONGEST_STREAK: u16 = if cfg!(all(test, loom)) { 2 } else { 1 << 15 };

// SAFETY: the lock hands the value to one thread at a time, which may be any.
unsafe impl<T: Send> Send for BiasedLock<T> {}
// SAFETY: as for Send; references to the value come only from the guard, one at a time, and the
// habit is touched by who holds the mutex.
unsafe impl<T: Send> Sync for BiasedLock<T> {}

impl<T> BiasedLock<T> {
    /// A lock around a value.
    pub fn new(value: T) -> Self {
        let habit = Habit { last: 0, streak: 0, wanted: FIRST_STREAK };
        Self {
            owner: AtomicUsize::new(NOBODY),
            first: AtomicUsize::new(NOBODY),
            second: AtomicUsize::new(NOBODY),
            mutex: Mutex::new(()),
            habit: Cell::new(habit),
            value: UnsafeCell::new(value),
        }
    }

    /// Enters, after whoever is inside has left.
    #[inline]
    pub fn lock(&self) -> BiasedGuard<'_, T> {
        let me = token();
        match self.enter(me) {
            Some(place) => BiasedGuard::new(self, Way::Owner(place)),
            None => self.lock_with_mutex(me),
        }
    }

    /// Enters if the lock is biased to this thread, which is what a path without calls can do;
    /// otherwise nothing has happened, and [`lock`](Self::lock) is there for everybody.
    #[inline(always)]
    pub fn lock_as_owner(&self) -> Option<OwnerGuard<'_, T>> {
        let place = self.enter(token())?;
        Some(OwnerGuard { lock: self, place, value: PhantomData })
    }

    /// Enters as the owner, if this thread is; its place. An owner that is inside already does
    /// not find it, and would wait for itself, with the mutex.
    #[inline(always)]
    fn enter(&self, me: usize) -> Option<&AtomicUsize> {
        let place = if self.first.load(Ordering::Relaxed) == me {
            &self.first
        } else if self.second.load(Ordering::Relaxed) == me {
            &self.second
        } else {
            return None;
        };
        place.store(INSIDE, Ordering::Relaxed);
        fence::light();
        if self.owner.load(Ordering::Relaxed) == me {
            return Some(place);
        }
        place.store(me, Ordering::Release);
        None
    }

    #[cold]
    #[inline(never)]
    fn lock_with_mutex(&self, me: usize) -> BiasedGuard<'_, T> {
        let mutex = self.mutex.lock();
        let mut habit = self.habit.get();
        let owner = self.owner.load(Ordering::Relaxed);
        if owner != NOBODY {
            self.revoke(&mut habit);
        }
        // Not the owner any more: it knows.
        if let Some(place) = self.place_of(me) {
            place.store(NOBODY, Ordering::Relaxed);
        }
        // All are even.
        let last = (me / 2) as u32;
        habit.streak = if habit.last == last { habit.streak.saturating_add(1) } else { 1 };
        habit.last = last;
        let place = if habit.streak >= habit.wanted && fence::is_available() {
            // Late former owners may have all.
            self.place_of(NOBODY)
        } else {
            None
        };
        self.habit.set(habit);
        let Some(place) = place else { return BiasedGuard::new(self, Way::Mutex(mutex)) };
        // From here on it is inside as its owner; the mutex shows both to the next.
        place.store(INSIDE, Ordering::Relaxed);
        self.owner.store(me, Ordering::Relaxed);
        drop(mutex);
        BiasedGuard::new(self, Way::Owner(place))
    }

    /// The place that says that.
    fn place_of(&self, thread: usize) -> Option<&AtomicUsize> {
        [&self.first, &self.second]
            .into_iter()
            .find(|place| place.load(Ordering::Relaxed) == thread)
    }

    /// Takes the bias away, with the mutex held.
    fn revoke(&self, habit: &mut Habit) {
        self.owner.store(NOBODY, Ordering::Relaxed);
        fence::heavy();
        self.await_owner();
        habit.streak = 0;
        habit.wanted = habit.wanted.saturating_mul(2).min(LONGEST_STREAK);
    }

    /// Waits until an owner that was inside before the last heavy fence has left; others are about
    /// to step back. Acquire: what it did inside has then happened.
    fn await_owner(&self) {
        for place in [&self.first, &self.second] {
            let mut turn = 0;
            while place.load(Ordering::Acquire) == INSIDE {
                pause(&mut turn);
            }
        }
    }

    /// Waits until whoever was inside has left, and leaves the bias as it is. With
    /// [`fence::heavy`] before it this is a grace period: a section that did not see what the
    /// caller stored before that fence is over when this returns.
    ///
    /// To be called from outside.
    pub fn pass(&self) {
        let mutex = self.mutex.lock();
        let owner = self.owner.load(Ordering::Relaxed);
        if owner != NOBODY && owner != token() {
            self.await_owner();
        }
        drop(mutex);
    }

    /// As [`pass`](Self::pass), and without a heavy fence before it, unless the lock is biased to
    /// another thread. Whether it was a grace period: the mutex orders the caller's stores before
    /// every section that enters later, but for those of an owner, which enters without it.
    ///
    /// To be called from outside.
    pub fn pass_without_fence(&self) -> bool {
        let mutex = self.mutex.lock();
        let owner = self.owner.load(Ordering::Relaxed);
        drop(mutex);
        owner == NOBODY || owner == token()
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
    way: Way<'a>,
    /// It gives what an exclusive reference gives.
    value: PhantomData<&'a mut T>,
}

/// How somebody entered.
enum Way<'a> {
    /// By its place.
    Owner(&'a AtomicUsize),
    Mutex(#[expect(dead_code, reason = "its drop is what it is for")] MutexGuard<'a, ()>),
}

impl<'a, T> BiasedGuard<'a, T> {
    #[inline]
    fn new(lock: &'a BiasedLock<T>, way: Way<'a>) -> Self {
        Self { lock, way, value: PhantomData }
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
        if let Way::Owner(place) = self.way {
            // Release: what was done inside comes before whoever sees it.
            place.store(token_again(), Ordering::Release);
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
    place: &'a AtomicUsize,
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
        self.place.store(token_again(), Ordering::Release);
    }
}

impl<T> fmt::Debug for OwnerGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnerGuard").finish_non_exhaustive()
    }
}
