//! The wakeup of an event dispatcher or of a notification object: what sleepers wait on, also
//! available as a descriptor.
//!
//! The program may have closed the descriptor, which it must not: then a signal only wakes the sleepers that are on no
//! descriptor.
//!
//! A wakeup that is signalled while no thread listens stays signalled until the next
//! [`Wakeup::clear`]. So the order is always: clear, check the queue, sleep. An arrival in between
//! is never missed.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;

use dat_sync::descriptors::Beacon;
use dat_sync::futex::Expected;
use dat_sync::{Lazy, PerProcess};

use crate::blocking::SleepResult;
use crate::sync::{LateInit, Mutex, WakeWord, await_readable};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Wakeup {
    state: Mutex<State>,
    wake: WakeWord,
    /// Created when a consumer first requests it.
    fd: LateInit<Beacon>,
}

#[derive(Debug, Default)]
struct State {
    rung: bool,
    /// Number of sleepers on the wake word.
    sleepers: u32,
    /// The sleep on a descriptor of the caller.
    slept_on: Option<SleptOn>,
}

/// A sleep on a descriptor of the caller.
#[derive(Debug)]
struct SleptOn {
    descriptor: Arc<Beacon>,
    /// True if the descriptor was made readable.
    is_readable: bool,
}

impl SleptOn {
    fn wake(&mut self) {
        if !std::mem::replace(&mut self.is_readable, true) {
            let _ = self.descriptor.raise();
        }
    }
}

impl Wakeup {
    /// Wakes all sleepers and makes the descriptor readable.
    pub(crate) fn signal(&self) {
        let mut state = self.state.lock();
        if state.rung {
            return;
        }
        state.rung = true;
        if let Some(fd) = self.fd.get() {
            let _ = fd.raise();
        }
        if let Some(slept_on) = &mut state.slept_on {
            slept_on.wake();
        }
        let has_sleepers = state.sleepers > 0;
        drop(state);
        if has_sleepers {
            self.wake.wake_all();
        }
    }

    /// Resets the wakeup.
    pub(crate) fn clear(&self) {
        let mut state = self.state.lock();
        if !state.rung {
            return;
        }
        state.rung = false;
        if let Some(fd) = self.fd.get() {
            let _ = fd.lower();
        }
    }

    /// Announces a sleep: returns the value of the wake word to sleep on, or `None` if the wakeup
    /// is already signalled.
    pub(crate) fn begin_sleep(&self) -> Option<u32> {
        let mut state = self.state.lock();
        if state.rung {
            return None;
        }
        state.sleepers += 1;
        Some(self.wake.count())
    }

    /// Ends an announced sleep; returns whether the wakeup is signalled.
    pub(crate) fn end_sleep(&self) -> bool {
        let mut state = self.state.lock();
        state.sleepers -= 1;
        state.rung
    }

    /// Announces a sleep on a descriptor of the caller, which a signal makes readable. Returns false if
    /// the wakeup is already signalled. Only one thread at a time sleeps so.
    pub(crate) fn begin_sleep_on(&self, descriptor: &Arc<Beacon>) -> bool {
        let mut state = self.state.lock();
        if !state.rung {
            let descriptor = Arc::clone(descriptor);
            state.slept_on = Some(SleptOn { descriptor, is_readable: false });
        }
        !state.rung
    }

    /// Wakes the thread that sleeps on a descriptor of its own, without a signal that stays.
    pub(crate) fn wake_sleep_on(&self) {
        if let Some(slept_on) = &mut self.state.lock().slept_on {
            slept_on.wake();
        }
    }

    /// Ends a sleep on a descriptor of the caller, which is not readable any more.
    pub(crate) fn end_sleep_on(&self) {
        if let Some(slept_on) = self.state.lock().slept_on.take().filter(|one| one.is_readable) {
            let _ = slept_on.descriptor.lower();
        }
    }

    /// Sleeps until the wake word has another value than at the announcement of the sleep, or the other word has
    /// another value, or until the deadline.
    pub(crate) fn sleep_on_words(
        &self,
        seen: u32,
        other: Expected<'_>,
        deadline: Option<Instant>,
    ) -> SleepResult {
        self.wake.sleep_with(seen, other, deadline)
    }

    /// Sleeps until the wakeup is signalled, or until the deadline.
    pub(crate) fn sleep(&self, deadline: Option<Instant>) -> SleepResult {
        loop {
            let Some(seen) = self.begin_sleep() else { return SleepResult::Woken };
            let in_time = self.wake.sleep(seen, deadline);
            if self.end_sleep() {
                return SleepResult::Woken;
            }
            if !in_time {
                return SleepResult::TimedOut;
            }
        }
    }

    /// The word to sleep on, for a sleeper that makes its own system call.
    #[cfg(not(all(test, loom)))]
    pub(crate) fn word(&self) -> &std::sync::atomic::AtomicU32 {
        self.wake.word()
    }

    /// The descriptor, if it was created.
    pub(crate) fn own_fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.get().map(AsFd::as_fd)
    }

    /// Sleeps until the wakeup is signalled or the other descriptor is readable, or until the
    /// deadline. The wakeup must have its own descriptor.
    pub(crate) fn sleep_beside(
        &self,
        other: BorrowedFd<'_>,
        deadline: Option<Instant>,
    ) -> SleepResult {
        match self.own_fd() {
            Some(own) => await_readable(own, other, deadline),
            None => SleepResult::Unavailable,
        }
    }

    /// Returns true if a descriptor exists that a consumer may poll.
    pub(crate) fn has_fd(&self) -> bool {
        self.fd.get().is_some()
    }

    /// The descriptor that is readable while the wakeup is signalled.
    pub(crate) fn fd(&self) -> io::Result<BorrowedFd<'_>> {
        if let Some(fd) = self.fd.get() {
            return Ok(fd.as_fd());
        }
        let fresh = Beacon::new()?;
        let state = self.state.lock();
        let fd = self.fd.get_or_init(|| fresh);
        if state.rung {
            let _ = fd.raise();
        }
        Ok(fd.as_fd())
    }

    /// As [`Wakeup::fd`]; if the process has no descriptor left, one that is always readable, so
    /// that the caller polls its queue instead of sleeping and loses nothing.
    pub(crate) fn fd_or_always_ready(&self) -> BorrowedFd<'_> {
        self.fd().unwrap_or_else(|_| always_ready())
    }
}

/// A descriptor that is always readable, unless it could not be created.
struct AlwaysReady(Option<Beacon>);

impl Default for AlwaysReady {
    fn default() -> Self {
        Self(Beacon::new().ok())
    }
}

static ALWAYS_READY: PerProcess<AlwaysReady> = PerProcess::new();

/// Reserves the descriptor for the worst case; called when the first dispatcher is created.
pub(crate) fn reserve_always_ready() {
    ALWAYS_READY.get();
}

/// The descriptor for the worst case; if even that could not be reserved, or the program has closed it, standard error,
/// which polls only as writable.
fn always_ready() -> BorrowedFd<'static> {
    static STDERR: Lazy<io::Stderr> = Lazy::new(io::stderr);
    match &ALWAYS_READY.get().0 {
        Some(fd) if fd.raise().is_ok() => fd.as_fd(),
        _ => STDERR.as_fd(),
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
    fn a_signal_before_the_sleep_is_not_missed() {
        let wakeup = Wakeup::default();
        wakeup.signal();
        assert_eq!(wakeup.sleep(Some(Instant::now())), SleepResult::Woken);
        wakeup.clear();
        assert_eq!(wakeup.sleep(Some(Instant::now())), SleepResult::TimedOut);
    }

    #[test]
    fn a_signal_wakes_a_sleeper() {
        let wakeup = Arc::new(Wakeup::default());
        let sleeper = {
            let wakeup = Arc::clone(&wakeup);
            std::thread::spawn(move || wakeup.sleep(Some(Instant::now() + Duration::from_secs(20))))
        };
        std::thread::sleep(Duration::from_millis(20));
        wakeup.signal();
        assert_eq!(sleeper.join().expect("the sleeper does not panic"), SleepResult::Woken);
    }

    #[test]
    fn the_descriptor_shows_the_state_of_the_wakeup() {
        let wakeup = Wakeup::default();
        wakeup.signal();
        let fd = wakeup.fd().expect("a descriptor");
        assert!(readable(fd), "signalled before it was created");
        wakeup.clear();
        assert!(!readable(fd));
        wakeup.signal();
        wakeup.signal();
        assert!(readable(fd));
        wakeup.clear();
        assert!(!readable(fd));
    }

    #[test]
    fn a_sleep_on_two_descriptors_ends_with_either_of_them() {
        let wakeup = Wakeup::default();
        let other = Beacon::new().expect("a descriptor");
        let soon = || Some(Instant::now() + Duration::from_millis(1));
        assert_eq!(
            wakeup.sleep_beside(other.as_fd(), soon()),
            SleepResult::Unavailable,
            "it has no descriptor yet"
        );
        wakeup.fd().expect("a descriptor");
        assert_eq!(wakeup.sleep_beside(other.as_fd(), soon()), SleepResult::TimedOut);
        wakeup.signal();
        assert_eq!(wakeup.sleep_beside(other.as_fd(), None), SleepResult::Woken);
        wakeup.clear();
        other.raise().expect("it is there");
        assert_eq!(wakeup.sleep_beside(other.as_fd(), None), SleepResult::Woken);
        other.lower().expect("it is there");
        assert_eq!(wakeup.sleep_beside(other.as_fd(), Some(Instant::now())), SleepResult::TimedOut);
    }

    #[test]
    fn a_descriptor_whose_other_end_is_gone_is_reported_as_unavailable() {
        let wakeup = Wakeup::default();
        wakeup.fd().expect("a descriptor");
        let (reader, writer) = nix::unistd::pipe().expect("a pipe");
        drop(writer);
        assert_eq!(wakeup.sleep_beside(reader.as_fd(), None), SleepResult::Unavailable);
        wakeup.signal();
        assert_eq!(wakeup.sleep_beside(reader.as_fd(), None), SleepResult::Woken);
    }

    #[test]
    fn the_descriptor_of_the_worst_case_is_readable() {
        reserve_always_ready();
        assert!(readable(always_ready()));
    }
}
