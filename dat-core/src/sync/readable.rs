//! Sleeping on descriptors.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use crate::signal::Slept;

/// Sleeps until the bell or what is beside it is readable, or until the deadline. Signals that
/// are handled meanwhile end nothing.
pub(crate) fn await_readable(
    bell: BorrowedFd<'_>,
    beside: BorrowedFd<'_>,
    deadline: Option<Instant>,
) -> Slept {
    loop {
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let mut both = [bell, beside].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let found = ppoll(&mut both, left.map(TimeSpec::from_duration), None);
        let shows = |index: usize, flags| {
            both[index].revents().is_some_and(|events: PollFlags| events.intersects(flags))
        };
        let broken = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
        match found {
            Ok(0) => return Slept::Late,
            Ok(_) if shows(0, PollFlags::all()) || shows(1, PollFlags::POLLIN) => {
                return Slept::Woken;
            }
            Ok(_) if shows(1, broken) => return Slept::Useless,
            Err(Errno::EINTR) | Ok(_) => {}
            Err(_) => return Slept::Useless,
        }
    }
}
