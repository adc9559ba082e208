//! epoll(7), which a simulation can replace.
//!
//! Without a simulation these are the calls of the system. A simulation has one thread, which calls
//! [`simulated::begin`] before it creates anything; sets and descriptors are then entries of a table of that thread.
//!
//! [`wait`] is a raw system call: the function of libc can be cancelled, and a consumer's thread calls it. rustix makes
//! the call without its last argument, the size of the signal mask. The kernel does not read it without a mask, but
//! valgrind reports that it is not initialised.
#![allow(unsafe_code, reason = "the kernel initialises the events")]

pub mod simulated;

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;
use rustix::event::epoll::CreateFlags;
use rustix::event::{Timespec, epoll};
use rustix::io::{Errno, Result};

pub use rustix::event::epoll::{Event, EventData, EventFlags};

/// Size of the signal mask of a system call, in bytes.
const MASK_SIZE: usize = 8;

static IS_SIMULATED: AtomicBool = AtomicBool::new(false);

#[inline]
pub(crate) fn is_simulated() -> bool {
    IS_SIMULATED.load(Ordering::Relaxed)
}

/// Creates a set.
///
/// # Errors
/// As epoll_create1(2).
pub fn create() -> Result<OwnedFd> {
    if is_simulated() {
        return simulated::create();
    }
    epoll::create(CreateFlags::CLOEXEC)
}

/// Adds a descriptor to a set.
///
/// # Errors
/// As `EPOLL_CTL_ADD`.
pub fn add(
    set: impl AsFd,
    descriptor: impl AsFd,
    data: EventData,
    interest: EventFlags,
) -> Result<()> {
    if is_simulated() {
        return simulated::add(set.as_fd(), descriptor.as_fd(), Event { flags: interest, data });
    }
    epoll::add(set, descriptor, data, interest)
}

/// Changes the events of a descriptor in a set.
///
/// # Errors
/// As `EPOLL_CTL_MOD`.
pub fn modify(
    set: impl AsFd,
    descriptor: impl AsFd,
    data: EventData,
    interest: EventFlags,
) -> Result<()> {
    if is_simulated() {
        return simulated::modify(set.as_fd(), descriptor.as_fd(), Event { flags: interest, data });
    }
    epoll::modify(set, descriptor, data, interest)
}

/// Removes a descriptor from a set.
///
/// # Errors
/// As `EPOLL_CTL_DEL`.
pub fn delete(set: impl AsFd, descriptor: impl AsFd) -> Result<()> {
    if is_simulated() {
        return simulated::delete(set.as_fd(), descriptor.as_fd());
    }
    epoll::delete(set, descriptor)
}

/// Waits until a descriptor is ready, at most for the time-out; returns the events.
///
/// # Errors
/// `EINTR` if a signal interrupted the call.
pub fn wait<'a>(
    set: impl AsFd,
    events: &'a mut [MaybeUninit<Event>],
    timeout: Option<&Timespec>,
) -> Result<&'a [Event]> {
    let count = if is_simulated() {
        simulated::wait(set.as_fd(), events)?
    } else {
        wait_in_kernel(set, events, timeout)?
    };
    // SAFETY: that number of events was initialised, which is at most their number.
    Ok(unsafe { std::slice::from_raw_parts(events.as_ptr().cast(), count) })
}

fn wait_in_kernel(
    set: impl AsFd,
    events: &mut [MaybeUninit<Event>],
    timeout: Option<&Timespec>,
) -> Result<usize> {
    let milliseconds = timeout.map_or(-1, |timeout| {
        let whole = timeout.tv_sec.saturating_mul(1000);
        let rest = (timeout.tv_nsec + 999_999) / 1_000_000;
        libc::c_int::try_from(whole.saturating_add(rest)).unwrap_or(libc::c_int::MAX)
    });
    let (fd, no_mask) = (set.as_fd().as_raw_fd(), std::ptr::null::<libc::sigset_t>());
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
    usize::try_from(result)
        .map_err(|_| Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INTR))
}

/// As [`wait`], into the capacity of a list, in place of what it contains.
///
/// # Errors
/// As [`wait`].
pub fn wait_into(
    set: impl AsFd,
    events: &mut Vec<Event>,
    timeout: Option<&Timespec>,
) -> Result<()> {
    events.clear();
    let count = wait(set, events.spare_capacity_mut(), timeout)?.len();
    // SAFETY: the call has initialised that number of events of the capacity.
    unsafe { events.set_len(count) };
    Ok(())
}
