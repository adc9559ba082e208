//! The bell of an event dispatcher, what a sleeper waits on, or of a notification object, which
//! shows it as a descriptor.
//!
//! A bell rung while nobody listens stays rung until the next [`Bell::silence`], so the order
//! is always: silence, look at the queue, sleep. Nothing can slip in between unheard.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::time::Instant;

use nix::errno::Errno;
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::sync::{Condvar, LateInit, Mutex, await_readable};

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slept {
    /// Something rang, or showed at the other descriptor.
    Woken,
    /// The deadline passed.
    Late,
    /// The other descriptor shows nothing any more, or nothing can be slept on.
    Useless,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    state: Mutex<State>,
    condvar: Condvar,
    /// Made when a consumer first asks for it.
    fd: LateInit<EventFd>,
}

#[derive(Debug, Default)]
struct State {
    rung: bool,
    sleepers: u32,
}

impl Bell {
    /// Wakes all sleepers and makes the descriptor readable.
    pub(crate) fn ring(&self) {
        let mut state = self.state.lock();
        if state.rung {
            return;
        }
        state.rung = true;
        if state.sleepers > 0 {
            self.condvar.notify_all();
        }
        if let Some(fd) = self.fd.get() {
            // The counter can't overflow: it is at most 1 between two silences.
            let _ = fd.write(1);
        }
    }

    /// Forgets earlier rings.
    pub(crate) fn silence(&self) {
        let mut state = self.state.lock();
        if !state.rung {
            return;
        }
        state.rung = false;
        if let Some(fd) = self.fd.get() {
            // Nothing to read is as good.
            let _ = fd.read();
        }
    }

    /// Sleeps until the bell is rung, or until the deadline.
    pub(crate) fn sleep(&self, deadline: Option<Instant>) -> Slept {
        let mut state = self.state.lock();
        state.sleepers += 1;
        while !state.rung {
            match deadline {
                None => self.condvar.wait(&mut state),
                Some(deadline) => {
                    if self.condvar.wait_until(&mut state, deadline).timed_out() {
                        break;
                    }
                }
            }
        }
        state.sleepers -= 1;
        if state.rung { Slept::Woken } else { Slept::Late }
    }

    /// Sleeps until the bell is rung or the other descriptor is readable, or until the deadline.
    /// The bell has to have its own descriptor.
    pub(crate) fn sleep_beside(&self, other: BorrowedFd<'_>, deadline: Option<Instant>) -> Slept {
        match self.fd.get() {
            Some(own) => await_readable(own.as_fd(), other, deadline),
            None => Slept::Useless,
        }
    }

    /// Whether somebody may poll the descriptor.
    pub(crate) fn has_fd(&self) -> bool {
        self.fd.get().is_some()
    }

    /// The descriptor that is readable while the bell is rung.
    pub(crate) fn fd(&self) -> io::Result<BorrowedFd<'_>> {
        if let Some(fd) = self.fd.get() {
            return Ok(fd.as_fd());
        }
        let fresh = eventfd()?;
        let state = self.state.lock();
        let fd = self.fd.get_or_init(|| fresh);
        if state.rung {
            let _ = fd.write(1);
        }
        Ok(fd.as_fd())
    }

    /// As [`Bell::fd`]; when the process has no descriptor left, one that is always readable,
    /// so that the caller polls its queue instead of sleeping and loses nothing.
    pub(crate) fn fd_or_always_ready(&self) -> BorrowedFd<'_> {
        self.fd().unwrap_or_else(|_| always_ready())
    }
}

fn eventfd() -> io::Result<EventFd> {
    let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
    EventFd::from_flags(flags).map_err(|errno: Errno| io::Error::from_raw_os_error(errno as i32))
}

static ALWAYS_READY: OnceLock<Option<EventFd>> = OnceLock::new();

/// Sets the descriptor for the worst case aside; called when the first dispatcher is made.
pub(crate) fn reserve_always_ready() {
    ALWAYS_READY.get_or_init(|| {
        let fd = eventfd().ok()?;
        fd.write(1).ok()?;
        Some(fd)
    });
}

/// The descriptor for the worst case; standard error, which polls as writable only, when even
/// that one could not be had.
fn always_ready() -> BorrowedFd<'static> {
    static STDERR: OnceLock<io::Stderr> = OnceLock::new();
    match ALWAYS_READY.get() {
        Some(Some(fd)) => fd.as_fd(),
        _ => STDERR.get_or_init(io::stderr).as_fd(),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;

    fn readable(fd: BorrowedFd<'_>) -> bool {
        poll(&mut [PollFd::new(fd, PollFlags::POLLIN)], PollTimeout::ZERO) == Ok(1)
    }

    #[test]
    fn a_ring_before_the_sleep_is_heard() {
        let bell = Bell::default();
        bell.ring();
        assert_eq!(bell.sleep(Some(Instant::now())), Slept::Woken);
        bell.silence();
        assert_eq!(bell.sleep(Some(Instant::now())), Slept::Late);
    }

    #[test]
    fn a_ring_wakes_a_sleeper() {
        let bell = Arc::new(Bell::default());
        let sleeper = {
            let bell = Arc::clone(&bell);
            std::thread::spawn(move || bell.sleep(Some(Instant::now() + Duration::from_secs(20))))
        };
        std::thread::sleep(Duration::from_millis(20));
        bell.ring();
        assert_eq!(sleeper.join().expect("the sleeper does not panic"), Slept::Woken);
    }

    #[test]
    fn the_descriptor_shows_the_state_of_the_bell() {
        let bell = Bell::default();
        bell.ring();
        let fd = bell.fd().expect("a descriptor");
        assert!(readable(fd), "rung before it was made");
        bell.silence();
        assert!(!readable(fd));
        bell.ring();
        bell.ring();
        assert!(readable(fd));
        bell.silence();
        assert!(!readable(fd));
    }

    #[test]
    fn a_sleep_beside_a_descriptor_ends_with_either_of_them() {
        let bell = Bell::default();
        let other = eventfd().expect("a descriptor");
        let soon = || Some(Instant::now() + Duration::from_millis(1));
        assert_eq!(bell.sleep_beside(other.as_fd(), soon()), Slept::Useless, "it has none yet");
        bell.fd().expect("a descriptor");
        assert_eq!(bell.sleep_beside(other.as_fd(), soon()), Slept::Late);
        bell.ring();
        assert_eq!(bell.sleep_beside(other.as_fd(), None), Slept::Woken);
        bell.silence();
        other.write(1).expect("room");
        assert_eq!(bell.sleep_beside(other.as_fd(), None), Slept::Woken);
        other.read().expect("readable");
        assert_eq!(bell.sleep_beside(other.as_fd(), Some(Instant::now())), Slept::Late);
    }

    #[test]
    fn a_descriptor_whose_other_end_is_gone_wakes_as_useless() {
        let bell = Bell::default();
        bell.fd().expect("a descriptor");
        let (reader, writer) = nix::unistd::pipe().expect("a pipe");
        drop(writer);
        assert_eq!(bell.sleep_beside(reader.as_fd(), None), Slept::Useless);
        bell.ring();
        assert_eq!(bell.sleep_beside(reader.as_fd(), None), Slept::Woken);
    }

    #[test]
    fn the_descriptor_of_the_worst_case_is_readable() {
        reserve_always_ready();
        assert!(readable(always_ready()));
    }
}
