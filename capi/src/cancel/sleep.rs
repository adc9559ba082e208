//! A sleep in which the thread can be cancelled.

use std::ffi::{c_int, c_void};
use std::os::fd::AsRawFd;
use std::ptr;

use dat_core::blocking::{SleepOn, SleepResult};

use super::cancel_state::HeldOff;
use super::waits::Wait;

unsafe extern "C-unwind" {
    fn dats_sleep(
        sleep: *mut Sleep,
        give_up: unsafe extern "C" fn(*mut c_void),
        wait: *mut c_void,
    ) -> c_int;
}

/// `struct dats_sleep` of `cancel.h`.
#[repr(C)]
pub(super) struct Sleep {
    word: *const u32,
    seen: u32,
    cancel_state: c_int,
    fds: [libc::pollfd; 2],
    limit: libc::timespec,
    has_limit: c_int,
}

impl Sleep {
    pub(super) fn new(caller: HeldOff) -> Self {
        Self {
            word: ptr::null(),
            seen: 0,
            cancel_state: caller.number(),
            fds: [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; 2],
            limit: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            has_limit: 0,
        }
    }

    /// Fills in what a wait has to sleep on, and for how long; returns whether it has to sleep.
    pub(super) fn prepare(&mut self, wait: &mut impl Wait) -> bool {
        let limit = wait.time_left();
        self.has_limit = limit.is_some().into();
        if let Some(limit) = limit {
            // 68 years: a longer time exceeds every clock, and need not fit into the type.
            self.limit.tv_sec = i32::try_from(limit.as_secs()).unwrap_or(i32::MAX).into();
            self.limit.tv_nsec = limit.subsec_nanos() as libc::c_long;
        }
        match wait.begin_sleep() {
            None => return false,
            Some(SleepOn::Word { word, seen }) => (self.word, self.seen) = (word.as_ptr(), seen),
            Some(SleepOn::Descriptors(both)) => {
                self.word = ptr::null();
                for (to, fd) in self.fds.iter_mut().zip(both) {
                    (to.fd, to.revents) = (fd.as_raw_fd(), 0);
                }
            }
        }
        true
    }

    /// Sleeps once. A cancellation during the sleep calls `give_up` with `wait` and ends the thread.
    ///
    /// # Safety
    /// `prepare` has filled in the sleep for this wait, and `give_up` may be called with it. The
    /// frames above are plain.
    #[inline(always)]
    pub(super) unsafe fn sleep(
        &mut self,
        give_up: unsafe extern "C" fn(*mut c_void),
        wait: *mut c_void,
    ) -> SleepResult {
        // SAFETY: the address is that of this struct, which outlives the call; the caller guarantees
        // the rest.
        sleep_result(unsafe { dats_sleep(self, give_up, wait) })
    }
}

/// Converts the result of `dats_sleep`, by the constants of `cancel.h`.
fn sleep_result(outcome: c_int) -> SleepResult {
    match outcome {
        1 => SleepResult::TimedOut,
        2 => SleepResult::Unavailable,
        _ => SleepResult::Woken,
    }
}
