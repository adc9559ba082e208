//! Which thread this is, in one instruction where there is one.

/// A number that no other living thread has, that is even, and that is never 0: the address of
/// something of the thread's own. A thread that comes after one has ended may have the number of
/// that one; whoever hands out the address again has made sure that the first is over.
#[inline(always)]
#[must_use]
pub fn token() -> usize {
    imp::token()
}

/// The same, looked up again: where other calls came between, that is less than to keep it.
#[inline(always)]
#[must_use]
pub fn token_again() -> usize {
    imp::token_again()
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(any(miri, all(test, loom)))))]
mod imp {
    /// The address of the thread's block, by that instruction.
    macro_rules! block {
        ($instruction:literal) => {{
            let block: usize;
            // SAFETY: the word at the start of the block that `fs` points to is there in every
            // thread of every Linux program, and never changes; it is only read.
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

    /// The ABI of thread-local storage keeps the address of the thread's block at its start. A
    /// thread-local variable would do as well, by a function call where this is a shared library.
    #[inline(always)]
    pub(super) fn token() -> usize {
        block!("mov {}, fs:0")
    }

    /// For the compiler this is another instruction.
    #[inline(always)]
    pub(super) fn token_again() -> usize {
        block!("mov {}, fs:0 # again")
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(any(miri, all(test, loom))))))]
mod imp {
    use std::cell::Cell;

    pub(super) use token as token_again;

    /// What the threads of a model are known by: loom has no stable addresses of them.
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
