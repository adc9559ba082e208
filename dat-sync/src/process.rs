//! The process that an object belongs to.
//!
//! The child of a fork has a copy of its parent's objects, but neither the threads nor the device
//! resources behind them. A call must find that out before it takes a lock, which another thread of
//! the parent may have held at the time of the fork.

use std::process;

use crate::pages::per_process::process_number;

/// A process, remembered by an object that was created in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    number: u64,
    id: u32,
}

impl Process {
    /// The current process.
    #[must_use]
    pub fn current() -> Self {
        Self { number: process_number(), id: process::id() }
    }

    /// Returns true if it is the current process, and not one from which this one was forked. Two
    /// loads, no system call.
    #[inline]
    #[must_use]
    pub fn is_current(self) -> bool {
        process_number() == self.number
    }

    /// Its process id.
    #[must_use]
    pub const fn id(self) -> u32 {
        self.id
    }
}

/// Returns true if a process is stopped, by a signal or a debugger (proc(5)).
#[must_use]
pub fn is_stopped(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name, in parentheses, may contain any character.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    matches!(state, Some('T' | 't'))
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    #![allow(unsafe_code, reason = "fork")]

    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};

    use super::*;

    #[test]
    fn a_child_and_a_grandchild_are_other_processes() {
        let parent = Process::current();
        assert!(parent.is_current());
        assert_eq!(parent.id(), process::id());
        // SAFETY: the child makes only the tested calls, `fork`, `waitpid` and `_exit`.
        match unsafe { fork() }.expect("a child") {
            ForkResult::Child => {
                let child = Process::current();
                let mut is_right = !parent.is_current() && child.is_current() && child != parent;
                // SAFETY: the grandchild makes only the tested call and `_exit`.
                match unsafe { fork() } {
                    Ok(ForkResult::Child) => {
                        let is_right = !parent.is_current() && !child.is_current();
                        // SAFETY: `_exit` ends the process without running any destructor.
                        unsafe { nix::libc::_exit(i32::from(!is_right)) }
                    }
                    Ok(ForkResult::Parent { child }) => {
                        is_right &= waitpid(child, None) == Ok(WaitStatus::Exited(child, 0));
                    }
                    Err(_) => is_right = false,
                }
                // SAFETY: `_exit` ends the process without running any destructor.
                unsafe { nix::libc::_exit(i32::from(!is_right)) }
            }
            ForkResult::Parent { child } => {
                assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
            }
        }
        assert!(parent.is_current());
    }
}
