//! epoll_wait(2), by a raw system call: the function of libc can be cancelled, and a consumer's thread calls it.
//!
//! rustix makes the call without its last argument, the size of the signal mask. The kernel does not read it without a
//! mask, but valgrind reports that it is not initialised.
#![allow(unsafe_code, reason = "the kernel initialises the events")]

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

use rustix::event::Timespec;
use rustix::event::epoll::Event;
use rustix::io::{Errno, Result};

/// Size of the signal mask of a system call, in bytes.
const MASK_SIZE: usize = 8;

/// Waits until a descriptor is ready, at most for the time-out; returns the events.
///
/// # Errors
/// `EINTR` if a signal interrupted the call.
pub(crate) fn wait<'a>(
    epoll: impl AsFd,
    events: &'a mut [MaybeUninit<Event>],
    timeout: Option<&Timespec>,
) -> Result<&'a [Event]> {
    let milliseconds = timeout.map_or(-1, |timeout| {
        let whole = timeout.tv_sec.saturating_mul(1000);
        let rest = (timeout.tv_nsec + 999_999) / 1_000_000;
        libc::c_int::try_from(whole.saturating_add(rest)).unwrap_or(libc::c_int::MAX)
    });
    let (fd, no_mask) = (epoll.as_fd().as_raw_fd(), std::ptr::null::<libc::sigset_t>());
    let most = libc::c_int::try_from(events.len()).unwrap_or(libc::c_int::MAX);
    // SAFETY: the events are valid for `most` writes of the layout of the kernel, which `Event` has.
    let result = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait,
            fd,
            events.as_mut_ptr(),
            most,
            milliseconds,
            no_mask,
            MASK_SIZE,
        )
    };
    let Ok(count) = usize::try_from(result) else {
        return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INTR));
    };
    // SAFETY: the kernel has initialised that number of events, which is at most their number.
    Ok(unsafe { std::slice::from_raw_parts(events.as_ptr().cast(), count) })
}

/// As [`wait`], into the capacity of a list, in place of what it contains.
///
/// # Errors
/// As [`wait`].
pub(crate) fn wait_into(
    epoll: impl AsFd,
    events: &mut Vec<Event>,
    timeout: Option<&Timespec>,
) -> Result<()> {
    events.clear();
    let count = wait(epoll, events.spare_capacity_mut(), timeout)?.len();
    // SAFETY: the call has initialised that number of events of the capacity.
    unsafe { events.set_len(count) };
    Ok(())
}
