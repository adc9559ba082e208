//! Values that exist once per process: a forked child starts with a new one.
//!
//! A child has the memory of its parent but not its threads, and locks that those threads held stay
//! locked. So values with a thread or a lock are abandoned in the child and created again. A page
//! that the kernel wipes in children (madvise(2), `MADV_WIPEONFORK`) distinguishes a child from its
//! parent without a system call.

use std::mem::ManuallyDrop;
use std::process;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::{Pages, Size};

/// A value per process, created by the first use in that process and never dropped.
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
    /// Creates an empty cell.
    #[must_use]
    pub const fn new() -> Self {
        Self { current: AtomicPtr::new(null_mut()) }
    }

    /// The value of this process. Takes no lock, because another thread might hold it during a
    /// fork.
    pub fn get(&self) -> &'static T {
        let process = process_number();
        loop {
            let current = self.current.load(Ordering::Acquire);
            // SAFETY: null, or an entry that was leaked below and is never freed.
            if let Some(entry) = unsafe { current.as_ref() }.filter(|it| it.process == process) {
                return &entry.value;
            }
            let fresh = Box::into_raw(Box::new(Entry { process, value: T::default() }));
            // Release: pairs with the Acquire above.
            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
            if self.current.compare_exchange(current, fresh, success, failure).is_err() {
                // SAFETY: another thread published its entry first, so this one is still owned here
                // alone.
                drop(unsafe { Box::from_raw(fresh) });
            }
        }
    }
}

/// A number that differs from those of all processes from which this one was forked.
#[inline]
pub(crate) fn process_number() -> u64 {
    // SAFETY: null, or the first word of pages that are never unmapped.
    match unsafe { WORD.load(Ordering::Acquire).as_ref() }.map(|it| it.load(Ordering::Relaxed)) {
        None | Some(0) => take_number(),
        Some(number) => number,
    }
}

/// The word in the page that is wiped in children; null before the first use.
static WORD: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());

#[cold]
fn take_number() -> u64 {
    /// The last number assigned in this process or one of its ancestors.
    static LAST: AtomicU64 = AtomicU64::new(0);
    let Some(word) = word(&WORD, wiped_pages) else { return process::id().into() };
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    match word.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => number,
        Err(other) => other,
    }
}

/// Takes the place of the word if the system has refused it. It is always 0, which is not a number.
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// Pages that the kernel wipes in children (Linux 4.14), if it has any.
fn wiped_pages() -> Option<Pages> {
    Pages::zeroed(size_of::<AtomicU64>(), Size::Small).filter(Pages::wipe_in_children)
}

/// The word at a place that is null before the first use. The first outcome stays, even if it was only the memory that was
/// missing: numbers must not change. So the word and its refusal are one value.
fn word(
    place: &AtomicPtr<AtomicU64>,
    make: impl FnOnce() -> Option<Pages>,
) -> Option<&'static AtomicU64> {
    if place.load(Ordering::Acquire).is_null() {
        let pages = make();
        let fresh = match &pages {
            Some(pages) => pages.base().as_ptr().cast(),
            None => (&raw const REFUSED).cast_mut(),
        };
        // Release: pairs with the loads of `word` and `process_number`.
        if place.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            // The pages are never unmapped.
            let _ = ManuallyDrop::new(pages);
        }
    }
    // SAFETY: set above or by another thread, to `REFUSED`, or to zeroed and aligned pages that are never unmapped.
    let word = unsafe { place.load(Ordering::Acquire).as_ref() };
    word.filter(|word| !std::ptr::eq(*word, &REFUSED))
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};

    use super::*;

    /// One thread finds no memory for the word, and another one finds some at the same time.
    #[test]
    fn a_process_that_was_refused_the_word_stays_without_it() {
        let place = AtomicPtr::new(null_mut());
        let found = word(&place, || {
            assert!(word(&place, || None).is_none(), "the other thread is refused");
            wiped_pages()
        });
        assert!(found.is_none(), "both have the same number");
        assert!(word(&place, wiped_pages).is_none());
    }

    #[test]
    fn a_value_stays_the_same_in_a_process_and_a_child_has_another() {
        static VALUE: PerProcess<AtomicU64> = PerProcess::new();
        VALUE.get().store(7, Ordering::Relaxed);
        let threads: Vec<_> =
            (0..4).map(|_| std::thread::spawn(|| VALUE.get().load(Ordering::Relaxed))).collect();
        for thread in threads {
            assert_eq!(thread.join().expect("no panic"), 7);
        }
        // SAFETY: the child calls only the tested function and `_exit`.
        match unsafe { fork() }.expect("a child") {
            ForkResult::Child => {
                let fresh = VALUE.get().load(Ordering::Relaxed) == 0;
                VALUE.get().store(8, Ordering::Relaxed);
                let stays = VALUE.get().load(Ordering::Relaxed) == 8;
                // SAFETY: `_exit` ends the process without running any destructor.
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
