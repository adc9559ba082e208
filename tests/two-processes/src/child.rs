//! Children of fork.
#![allow(unsafe_code, reason = "fork")]

use std::panic::{AssertUnwindSafe, catch_unwind};

/// A child process that is killed when this is dropped.
#[derive(Debug)]
pub struct Child(libc::pid_t);

impl Child {
    /// Forks. The child runs the function and exits: with 0 if it returned true, with 1 if it returned false
    /// or panicked. It is killed by `SIGALRM` if that takes longer than `seconds`.
    ///
    /// # Panics
    /// If the system has no memory for a child.
    pub fn fork(seconds: u32, run: impl FnOnce() -> bool) -> Self {
        // SAFETY: the child has only this thread, and the test is about what it may call.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: ends a child that hangs.
            unsafe { libc::alarm(seconds) };
            let holds = catch_unwind(AssertUnwindSafe(run)).unwrap_or(false);
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(i32::from(!holds)) };
        }
        assert!(child > 0, "no child");
        Self(child)
    }

    /// A child that makes no call of DAT, and lives until it is dropped.
    #[must_use]
    pub fn idle() -> Self {
        Self::fork(120, || {
            loop {
                // SAFETY: the call waits for a signal.
                unsafe { libc::pause() };
            }
        })
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it did not exit with 0.
    pub fn expect_success(mut self) {
        let status = self.wait();
        assert_ne!(status & 0x7f, libc::SIGALRM, "the child hung");
        assert_eq!(status, 0, "the check failed in the child: {status:#x}");
    }

    fn wait(&mut self) -> i32 {
        let mut status = 0;
        let child = std::mem::take(&mut self.0);
        // SAFETY: waits for the child from above.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        status
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.0 > 0 {
            // SAFETY: the child was forked above and is not waited for yet.
            unsafe { libc::kill(self.0, libc::SIGKILL) };
            self.wait();
        }
    }
}
