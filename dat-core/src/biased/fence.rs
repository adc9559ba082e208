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

pub use imp::{heavy, is_available, try_heavy};

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

    /// As [`heavy`], which does not fail here.
    pub fn try_heavy() -> bool {
        heavy();
        true
    }
}

#[cfg(not(all(test, loom)))]
mod imp {
    use std::sync::OnceLock;
    use std::sync::atomic::{Ordering, fence};

    use nix::libc::{SYS_membarrier, c_int, c_long, syscall};

    const GLOBAL: c_int = 1;
    const PRIVATE_EXPEDITED: c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;

    /// Whether [`heavy`] works: Linux 4.14, and no sandbox that forbids it.
    pub fn is_available() -> bool {
        static AVAILABLE: OnceLock<bool> = OnceLock::new();
        *AVAILABLE.get_or_init(|| !cfg!(miri) && membarrier(REGISTER_PRIVATE_EXPEDITED))
    }

    /// The fence of the side that comes seldom, for both; a fence of this thread's only where it
    /// is not available.
    #[cold]
    pub fn heavy() {
        fence(Ordering::SeqCst);
        if !is_available() {
            return;
        }
        // The slow command needs no registration.
        let fenced = membarrier(PRIVATE_EXPEDITED) || membarrier(GLOBAL);
        if !fenced {
            // It worked before. Without it two threads could be inside at once.
            std::process::abort();
        }
        fence(Ordering::SeqCst);
    }

    /// As [`heavy`], for who can do without: whether it worked.
    #[cold]
    #[must_use]
    pub fn try_heavy() -> bool {
        fence(Ordering::SeqCst);
        // A child of fork may have to say again that it will use the call.
        let again = || membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED);
        let fenced = membarrier(PRIVATE_EXPEDITED) || again();
        fence(Ordering::SeqCst);
        fenced
    }

    fn membarrier(command: c_int) -> bool {
        let none: c_int = 0;
        // SAFETY: the call takes three numbers and touches no memory of the program.
        let result: c_long = unsafe { syscall(SYS_membarrier, command, none, none) };
        result == 0
    }
}
