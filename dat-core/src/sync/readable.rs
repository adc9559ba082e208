//! Sleeping on descriptors.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::blocking::{WaitOutcome, time_left};

/// Sleeps until the wakeup or the other descriptor is readable, or until the deadline. Signals
/// handled during the sleep do not end it.
pub(crate) fn await_readable(
    wakeup: BorrowedFd<'_>,
    beside: BorrowedFd<'_>,
    deadline: Option<Instant>,
) -> WaitOutcome {
    loop {
        let left = time_left(deadline).map(|left| Timespec::try_from(left).unwrap_or(LONG));
        let mut both = [wakeup, beside].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let found = poll(&mut both, left.as_ref());
        let shows = |index: usize, flags| both[index].revents().intersects(flags);
        let broken = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
        match found {
            Ok(0) => return WaitOutcome::TimedOut,
            Ok(_) if shows(0, PollFlags::IN) || shows(1, PollFlags::IN) => {
                return WaitOutcome::Woken;
            }
            // The device is gone, or the program has closed a descriptor that is not its own.
            Ok(_) if shows(0, broken) || shows(1, broken) => return WaitOutcome::Unavailable,
            Err(Errno::INTR) | Ok(_) => {}
            Err(_) => return WaitOutcome::Unavailable,
        }
    }
}

/// One day, for a time too long for a `Timespec`.
const LONG: Timespec = Timespec { tv_sec: 86_400, tv_nsec: 0 };
