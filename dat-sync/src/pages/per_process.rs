//! Values of which each process has its own: a child of fork starts with a fresh one.
//!
//! A child has the memory of its parent but not its threads, and locks that these held stay held.
//! So what has a thread or a lock of its own is left alone in the child and made again. A page that
//! the kernel wipes in children (madvise(2), `MADV_WIPEONFORK`) tells a child from its parent
//! without a system call.

use std::mem::ManuallyDrop;
use std::process;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use super::{Pages, Size};

/// A value for each process, made by the first use in that process and never dropped.
#[derive(Debug)]
pub struct PerProcess<T> {
    current: AtomicPtr<Entry<T>>,
}

#[derive(Debug)]
struct Entry<T> {
    process: u64,
    value: T,
}

impl<T: Default + Sync + 'static> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Default + Sync + 'static> PerProcess<T> {
    /// No value yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { current: AtomicPtr::new(null_mut()) }
    }

    /// The value of this process. Takes no lock, which another thread could hold during a fork.
    pub fn get(&self) -> &'static T {
        let process = process_number();
        loop {
            let current = self.current.load(Ordering::Acquire);
            // SAFETY: null, or an entry that was leaked below and is never freed.
            if let Some(entry) = unsafe { current.as_ref() }.filter(|it| it.process == process) {
                return &entry.value;
            }
            let fresh = Box::into_raw(Box::new(Entry { process, value: T::default() }));
            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
            if self.current.compare_exchange(current, fresh, success, failure).is_err() {
                // SAFETY: another thread was first, so this one was not published.
                drop(unsafe { Box::from_raw(fresh) });
            }
        }
    }
}

/// A number that this process shares with no process that it was forked from.
#[inline]
fn process_number() -> u64 {
    // SAFETY: null, or the first word of pages that are never unmapped.
    match unsafe { WORD.load(Ordering::Acquire).as_ref() }.map(|it| it.load(Ordering::Relaxed)) {
        None | Some(0) => take_number(),
        Some(number) => number,
    }
}

/// The word of the page that children find wiped; null before the first use.
static WORD: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());

#[cold]
fn take_number() -> u64 {
    /// The last number that this process or one of its ancestors took.
    static LAST: AtomicU64 = AtomicU64::new(0);
    let Some(word) = word() else { return process::id().into() };
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    match word.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => number,
        Err(other) => other,
    }
}

/// The word, if the kernel wipes pages in children (Linux 4.14).
fn word() -> Option<&'static AtomicU64> {
    static REFUSED: AtomicBool = AtomicBool::new(false);
    if WORD.load(Ordering::Acquire).is_null() {
        if REFUSED.load(Ordering::Relaxed) {
            return None;
        }
        let pages = Pages::zeroed(size_of::<AtomicU64>(), Size::Small)?;
        if !pages.wipe_in_children() {
            REFUSED.store(true, Ordering::Relaxed);
            return None;
        }
        let fresh = pages.base().as_ptr().cast();
        if WORD.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            // They stay for good.
            let _ = ManuallyDrop::new(pages);
        }
    }
    // SAFETY: set above or by another thread, to zeroed and aligned pages that stay.
    unsafe { WORD.load(Ordering::Acquire).as_ref() }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};

    use super::*;

    #[test]
    fn a_value_stays_the_same_in_a_process_and_a_child_has_another() {
        static VALUE: PerProcess<AtomicU64> = PerProcess::new();
        VALUE.get().store(7, Ordering::Relaxed);
        let threads: Vec<_> =
            (0..4).map(|_| std::thread::spawn(|| VALUE.get().load(Ordering::Relaxed))).collect();
        for thread in threads {
            assert_eq!(thread.join().expect("no panic"), 7);
        }
        // SAFETY: the child calls nothing but what is tested, and leaves at once.
        match unsafe { fork() }.expect("a child") {
            ForkResult::Child => {
                let fresh = VALUE.get().load(Ordering::Relaxed) == 0;
                VALUE.get().store(8, Ordering::Relaxed);
                let stays = VALUE.get().load(Ordering::Relaxed) == 8;
                // SAFETY: ends the process.
                unsafe { nix::libc::_exit(i32::from(!(fresh && stays))) }
            }
            ForkResult::Parent { child } => {
                let status = waitpid(child, None).expect("its end");
                assert_eq!(status, WaitStatus::Exited(child, 0));
            }
        }
        assert_eq!(VALUE.get().load(Ordering::Relaxed), 7);
    }
}
