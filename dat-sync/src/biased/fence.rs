//! Fences of two threads of which one pays for both.
//!
//! Where one thread stores `a` and then loads `b`, and another stores `b` and then loads `a`, at
//! least one of them must see what the other stored. That takes a fence in each, or a light one in
//! the first and a heavy one in the second: membarrier(2) runs a fence on every processor that
//! runs a thread of this process, and one that runs none has passed a fence since.

/// The fence of the side that comes often: it keeps the compiler from changing the order. It is
/// enough only where [`is_available`].
#[inline]
pub fn light() {
    #[cfg(not(all(test, loom)))]
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    #[cfg(all(test, loom))]
    loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
}

pub use imp::{heavy, is_available};

#[cfg(all(test, loom))]
mod imp {
    use loom::sync::atomic::{Ordering, fence};

    /// It is, in models.
    pub fn is_available() -> bool {
        true
    }

    /// loom has no membarrier(2): both sides pay, which is the same order.
    pub fn heavy() {
        fence(Ordering::SeqCst);
    }
}

#[cfg(not(all(test, loom)))]
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

    /// Whether [`heavy`] is quick: Linux 4.14, and no sandbox that forbids it.
    pub fn is_available() -> bool {
        state() == AVAILABLE
    }

    /// The fence of the side that comes seldom, for both; a fence of this thread's only where it
    /// was never available.
    ///
    /// A sandbox may forbid it later, with threads around that have only the light one. Then it
    /// takes milliseconds, and [`is_available`] tells everybody to rely on it no more.
    #[cold]
    pub fn heavy() {
        fence(Ordering::SeqCst);
        if state() != NEVER_AVAILABLE && !ask() {
            STATE.store(NO_LONGER_AVAILABLE, Ordering::Relaxed);
            outlast();
        }
        fence(Ordering::SeqCst);
    }

    /// What [`STATE`] holds; what is not known yet is found out by the first who asks.
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
        let available = !cfg!(miri) && membarrier(REGISTER_PRIVATE_EXPEDITED);
        let found = if available { AVAILABLE } else { NEVER_AVAILABLE };
        // Another thread may have found out meanwhile, and even relied on it.
        match STATE.compare_exchange(UNKNOWN, found, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => found,
            Err(known) => known,
        }
    }

    /// Has the system fence all threads of the process; whether it did.
    fn ask() -> bool {
        // A child of fork may have to say again that it will use the call.
        let again = || membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED);
        // The slow command needs no registration.
        membarrier(PRIVATE_EXPEDITED) || again() || membarrier(GLOBAL)
    }

    /// Outlasts the stores that other threads have made and that are not seen yet: they leave a
    /// processor within microseconds. Where a page that is made read-only must be forgotten by
    /// all processors, they are interrupted for it, which is a fence.
    fn outlast() {
        forbid_a_page();
        std::thread::sleep(STORES_ARE_SEEN);
    }

    const STORES_ARE_SEEN: Duration = Duration::from_millis(2);

    fn forbid_a_page() {
        let rights = PROT_READ | PROT_WRITE;
        let kind = MAP_PRIVATE | MAP_ANONYMOUS;
        // SAFETY: a new mapping, at an address of the system's choice.
        let page = unsafe { mmap(null_mut(), 1, rights, kind, -1, 0) };
        if page == MAP_FAILED {
            return;
        }
        // A page that was never touched is known to no processor.
        // SAFETY: nobody else knows the page, and it may be written yet.
        unsafe { page.cast::<u8>().write_volatile(1) };
        // SAFETY: nobody else knows the page.
        unsafe { mprotect(page, 1, PROT_READ) };
        // SAFETY: as above.
        unsafe { munmap(page, 1) };
    }

    fn membarrier(command: c_int) -> bool {
        let none: c_int = 0;
        // SAFETY: the call takes three numbers and touches no memory of the program.
        let result: c_long = unsafe { syscall(SYS_membarrier, command, none, none) };
        result == 0
    }
}
