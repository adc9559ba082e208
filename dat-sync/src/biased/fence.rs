//! Asymmetric fences: of two threads, one pays for both.
//!
//! If one thread stores `a` and then loads `b`, and another stores `b` and then loads `a`, at least
//! one of them must see the other's store. That needs a fence in both threads, or a light one in
//! the first and a heavy one in the second: membarrier(2) executes a fence on every processor that
//! runs a thread of this process, and a processor that runs none has executed one since it last
//! did.

/// The fence of the frequent side: it only prevents reordering by the compiler. It suffices only
/// while [`is_available`] is true.
#[inline]
pub fn light() {
    #[cfg(not(any(miri, all(test, loom))))]
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    #[cfg(all(test, loom))]
    loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
    #[cfg(miri)]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

pub use imp::{heavy, is_available};

#[cfg(any(miri, all(test, loom)))]
mod imp {
    #[cfg(all(test, loom))]
    use loom::sync::atomic::{Ordering, fence};
    #[cfg(miri)]
    use std::sync::atomic::{Ordering, fence};

    /// Models always have the heavy fence.
    pub fn is_available() -> bool {
        true
    }

    /// loom and Miri have no membarrier(2): both sides execute a real fence, which gives the same order.
    pub fn heavy() {
        fence(Ordering::SeqCst);
    }
}

#[cfg(not(any(miri, all(test, loom))))]
mod imp {
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicU8, Ordering, fence};
    use std::time::Duration;

    use nix::libc::{
        MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_READ, PROT_WRITE, SYS_membarrier, c_int,
        c_long, mmap, mprotect, munmap, syscall,
    };

    const GLOBAL: c_int = 1;
    const PRIVATE_EXPEDITED: c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;

    /// Returns true if [`heavy`] is quick: needs Linux 4.14, and no sandbox that forbids
    /// membarrier(2).
    pub fn is_available() -> bool {
        state() == AVAILABLE
    }

    /// The fence of the rare side, on behalf of both sides; if membarrier(2) was never available,
    /// it is only a fence of this thread.
    ///
    /// A sandbox may forbid the call later, when threads rely on the light fence. Then this
    /// function takes milliseconds, and [`is_available`] tells all threads to stop relying on it.
    #[cold]
    pub fn heavy() {
        fence(Ordering::SeqCst);
        if state() != NEVER_AVAILABLE && !ask() {
            STATE.store(NO_LONGER_AVAILABLE, Ordering::Relaxed);
            outlast();
        }
        fence(Ordering::SeqCst);
    }

    /// The values of [`STATE`]; the first thread that needs to know replaces `UNKNOWN`.
    const UNKNOWN: u8 = 0;
    const AVAILABLE: u8 = 1;
    const NEVER_AVAILABLE: u8 = 2;
    const NO_LONGER_AVAILABLE: u8 = 3;
    static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

    #[inline]
    fn state() -> u8 {
        match STATE.load(Ordering::Relaxed) {
            UNKNOWN => find_out(),
            known => known,
        }
    }

    #[cold]
    fn find_out() -> u8 {
        let available = membarrier(REGISTER_PRIVATE_EXPEDITED);
        let found = if available { AVAILABLE } else { NEVER_AVAILABLE };
        // Another thread may have found out in the meantime, and even rely on it already.
        match STATE.compare_exchange(UNKNOWN, found, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => found,
            Err(known) => known,
        }
    }

    /// Makes the kernel execute a fence on all threads of the process; returns whether it did.
    fn ask() -> bool {
        // A forked child may have to register its use of the call again.
        let again = || membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED);
        // The slow command needs no registration.
        membarrier(PRIVATE_EXPEDITED) || again() || membarrier(GLOBAL)
    }

    /// Waits for stores of other threads that are not visible yet: they leave a processor's store
    /// buffer within microseconds. In addition, making a page read-only invalidates it on all
    /// processors; those that are interrupted for it execute a fence.
    fn outlast() {
        forbid_a_page();
        std::thread::sleep(STORES_ARE_SEEN);
    }

    const STORES_ARE_SEEN: Duration = Duration::from_millis(2);

    fn forbid_a_page() {
        let rights = PROT_READ | PROT_WRITE;
        let kind = MAP_PRIVATE | MAP_ANONYMOUS;
        // SAFETY: a new mapping, at an address that the kernel chooses, overlaps nothing.
        let page = unsafe { mmap(null_mut(), 1, rights, kind, -1, 0) };
        if page == MAP_FAILED {
            return;
        }
        // No processor has a page cached in its TLB that was never touched.
        // SAFETY: the page was mapped above, is writable, and no other code knows its address.
        unsafe { page.cast::<u8>().write_volatile(1) };
        // SAFETY: the page was mapped above, and no other code knows its address.
        unsafe { mprotect(page, 1, PROT_READ) };
        // SAFETY: the page was mapped above, no other code knows its address, and it is not used
        // after this.
        unsafe { munmap(page, 1) };
    }

    fn membarrier(command: c_int) -> bool {
        let none: c_int = 0;
        // SAFETY: the call takes three numbers and accesses no memory of the program.
        let result: c_long = unsafe { syscall(SYS_membarrier, command, none, none) };
        result == 0
    }
}
