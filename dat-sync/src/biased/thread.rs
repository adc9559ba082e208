//! The identity of the current thread, in one instruction if the architecture has one.

/// A nonzero, even number that no other living thread has: the address of thread-local memory. A
/// later thread may get the number of one that has ended; the allocator that reuses the address
/// orders the end of the first thread before the start of the second.
#[inline(always)]
#[must_use]
pub fn token() -> usize {
    imp::token()
}

/// The same value, computed again: after other calls that is cheaper than keeping it in a register.
#[inline(always)]
#[must_use]
pub fn token_again() -> usize {
    imp::token_again()
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(any(miri, all(test, loom)))))]
mod imp {
    /// The address of the thread control block, by one instruction.
    macro_rules! block {
        ($instruction:literal) => {{
            let block: usize;
            // SAFETY: in every thread of a Linux program, `fs` points to the thread control block,
            // whose first word exists and never changes; it is only read.
            unsafe {
                std::arch::asm!(
                    $instruction,
                    out(reg) block,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            block
        }};
    }

    /// The ABI of thread-local storage keeps the address of the thread control block at its start.
    /// A thread-local variable would work too, but needs a function call in a shared library.
    #[inline(always)]
    pub(super) fn token() -> usize {
        block!("mov {}, fs:0")
    }

    /// A separate `asm!` block, which the compiler does not merge with the one above.
    #[inline(always)]
    pub(super) fn token_again() -> usize {
        block!("mov {}, fs:0 # again")
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(any(miri, all(test, loom))))))]
mod imp {
    use std::cell::Cell;

    pub(super) use token as token_again;

    /// Identifies the threads of a model: loom has no stable addresses for them.
    #[cfg(all(test, loom))]
    pub(super) fn token() -> usize {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static NEXT: AtomicUsize = AtomicUsize::new(2);
        loom::thread_local!(static OWN: Cell<usize> = Cell::new(0));
        OWN.with(|own| {
            if own.get() == 0 {
                own.set(NEXT.fetch_add(2, Ordering::Relaxed));
            }
            own.get()
        })
    }

    #[cfg(not(all(test, loom)))]
    #[inline]
    pub(super) fn token() -> usize {
        std::thread_local!(static OWN: Cell<u64> = const { Cell::new(0) });
        OWN.with(|own| std::ptr::from_ref(own).addr())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    #[test]
    fn every_thread_has_a_number_of_its_own() {
        let mine = super::token();
        assert_ne!(mine, 0);
        assert_eq!(mine % 2, 0);
        assert_eq!(mine, super::token());
        let other = std::thread::spawn(super::token).join().expect("no panic");
        assert_ne!(mine, other);
    }
}
