//! The handlers of fork, which take the process locks.
#![allow(unsafe_code, reason = "locks are taken by one handler of fork and freed by another")]

use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence};
use std::time::{Duration, Instant};

use lock_api::RawMutex as _;

use super::RawLock;
use super::process::{RANKS, Rank};
use crate::biased::token;

/// A lock as the handlers see it.
pub(super) trait Listed: Sync {
    fn raw(&self) -> &RawLock;

    /// Called in a child by the thread that holds the lock.
    fn in_child(&self);
}

/// The locks that were taken at least once, by rank. Entries are never freed.
static LOCKS: [AtomicPtr<&'static dyn Listed>; RANKS] =
    [const { AtomicPtr::new(null_mut()) }; RANKS];

fn listed(rank: usize) -> Option<&'static dyn Listed> {
    // SAFETY: null, or an entry that is never freed.
    unsafe { LOCKS[rank].load(Ordering::Acquire).as_ref() }.copied()
}

/// How long a fork waits for the locks. A thread holds one for milliseconds at most.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it waits if its thread holds one of them itself, because it forks in a handler of a signal.
/// Another thread may wait for that one.
const PATIENCE_INSIDE: Duration = Duration::from_millis(100);

/// Held by the thread that forks, from one handler to the other.
static FORKING: RawLock = RawLock::INIT;
/// The token of that thread.
static FORKING_THREAD: AtomicUsize = AtomicUsize::new(0);
/// How many pairs of handlers it is in: two threads may have registered them at once.
static DEPTH: AtomicU32 = AtomicU32::new(0);
/// The locks that it took, by rank.
static TAKEN: AtomicU32 = AtomicU32::new(0);

/// Makes the handlers take a lock, before it is taken for the first time.
pub(super) fn list(rank: Rank, lock: &'static dyn Listed) {
    let entry = Box::into_raw(Box::new(lock));
    // Pairs with `listed`.
    let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
    if LOCKS[rank as usize].compare_exchange(null_mut(), entry, success, failure).is_err() {
        // SAFETY: it was allocated above, and no other thread has a reference to it.
        drop(unsafe { Box::from_raw(entry) });
        let other = listed(rank as usize).map(|one| std::ptr::from_ref(one.raw()));
        debug_assert_eq!(other, Some(std::ptr::from_ref(lock.raw())), "{rank:?} has two locks");
    }
    register();
    // Pairs with the fence of `before`.
    // Either a handler sees the entry, or this thread sees that a fork is in progress.
    fence(Ordering::SeqCst);
}

/// Registers the handlers, before a lock is taken.
fn register() {
    static IS_REGISTERED: AtomicBool = AtomicBool::new(false);
    if !cfg!(miri) && !IS_REGISTERED.load(Ordering::Acquire) {
        // SAFETY: the code of the handlers is never unloaded. They touch only words of memory, and what
        // the functions for the child touch. It fails only without memory, and then there is no other
        // way either.
        unsafe { nix::libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
        // Pairs with the load above.
        IS_REGISTERED.store(true, Ordering::Release);
    }
}

extern "C" fn before() {
    let me = token();
    if FORKING_THREAD.load(Ordering::Relaxed) == me {
        DEPTH.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let held = HELD.get();
    let deadline = Instant::now() + if held == 0 { PATIENCE } else { PATIENCE_INSIDE };
    if !FORKING.lock_until(deadline) {
        return;
    }
    FORKING_THREAD.store(me, Ordering::Relaxed);
    DEPTH.store(1, Ordering::Relaxed);
    TAKEN.store(0, Ordering::Relaxed);
    // Pairs with the fence of `list`.
    fence(Ordering::SeqCst);
    for rank in (0..RANKS).filter(|rank| held & 1 << rank == 0) {
        if listed(rank).is_some_and(|lock| lock.raw().lock_until(deadline)) {
            TAKEN.fetch_or(1 << rank, Ordering::Relaxed);
        }
    }
}

extern "C" fn in_parent() {
    after(false);
}

extern "C" fn in_child() {
    after(true);
}

fn after(is_child: bool) {
    let forking = FORKING_THREAD.load(Ordering::Relaxed);
    let is_last = if forking == token() {
        DEPTH.fetch_sub(1, Ordering::Relaxed) == 1
    } else {
        // Another thread of the parent was about to fork, too, and this one did not wait for it. It does
        // not exist in the child.
        is_child && forking != 0
    };
    if !is_last {
        return;
    }
    let taken = TAKEN.load(Ordering::Relaxed);
    let locks = || (0..RANKS).filter(|rank| taken & 1 << rank != 0).filter_map(listed);
    if is_child {
        locks().for_each(|lock| lock.in_child());
    }
    FORKING_THREAD.store(0, Ordering::Relaxed);
    for lock in locks() {
        // SAFETY: this thread has locked it, or one that does not exist any more.
        unsafe { lock.raw().unlock() };
    }
    // SAFETY: as for the others.
    unsafe { FORKING.unlock() };
}

thread_local! {
    /// A bit for each rank of which this thread holds the lock, or is about to take it.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// The bit of a rank.
pub(super) struct Held(u32);

impl Held {
    #[inline]
    pub(super) fn new(rank: Rank) -> Self {
        let (held, bit) = (HELD.get(), 1 << rank as u32);
        debug_assert!(held < bit, "{rank:?} is taken after one of {held:#b}");
        // A thread that takes locks again and again must not delay the fork.
        if held == 0 && ![0, token()].contains(&FORKING_THREAD.load(Ordering::Relaxed)) {
            await_fork();
        }
        HELD.set(held | bit);
        Self(bit)
    }
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        HELD.set(HELD.get() & !self.0);
    }
}

#[cold]
#[inline(never)]
fn await_fork() {
    FORKING.lock();
    // SAFETY: locked above.
    unsafe { FORKING.unlock() };
}
