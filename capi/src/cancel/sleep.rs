//! A sleep in which the thread can be cancelled.

use std::ffi::{c_int, c_void};
use std::os::fd::AsRawFd;
use std::ptr;

use dat_core::blocking::{SleepOn, SleepResult};
use dat_sync::futex::{self, Expected, WordPair};

use super::cancel_state::HeldOff;
use super::waits::Wait;

unsafe extern "C-unwind" {
    fn dats_sleep(
        sleep: *mut Sleep,
        give_up: unsafe extern "C" fn(*mut c_void),
        wait: *mut c_void,
    ) -> c_int;
}

/// The kinds of a sleep.
const WORD: c_int = 0;
const WORDS: c_int = 1;
const DESCRIPTORS: c_int = 2;

/// `struct dats_word` of `cancel.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Word {
    seen: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

/// The flags of a word of 32 bits, which is shared with other processes, or private to this one.
const SHARED: u32 = 2;
const PRIVATE: u32 = SHARED | 128;

impl Word {
    fn new(expected: Expected<'_>, flags: u32) -> Self {
        let address = expected.word.as_ptr().addr() as u64;
        Self { seen: expected.seen.into(), address, flags, reserved: 0 }
    }
}

/// `struct dats_time` of `cancel.h`.
#[repr(C)]
#[derive(Default)]
struct Time {
    seconds: i64,
    nanoseconds: i64,
}

/// `struct dats_sleep` of `cancel.h`.
#[repr(C)]
pub(super) struct Sleep {
    kind: c_int,
    cancel_state: c_int,
    word: *const u32,
    seen: u32,
    words: [Word; 2],
    until: Time,
    fds: [libc::pollfd; 2],
    limit: libc::timespec,
    has_limit: c_int,
}

impl Sleep {
    pub(super) fn new(caller: HeldOff) -> Self {
        Self {
            kind: WORD,
            cancel_state: caller.number(),
            word: ptr::null(),
            seen: 0,
            words: [Word::default(); 2],
            until: Time::default(),
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
            Some(SleepOn::Word { word, seen }) => {
                (self.kind, self.word, self.seen) = (WORD, word.as_ptr(), seen);
            }
            Some(SleepOn::Words(WordPair { own, shared })) => {
                self.kind = WORDS;
                self.words = [Word::new(own, PRIVATE), Word::new(shared, SHARED)];
                let until = futex::time_after(limit.unwrap_or_default());
                self.until.seconds = i64::try_from(until.as_secs()).unwrap_or(i64::MAX);
                self.until.nanoseconds = until.subsec_nanos().into();
            }
            Some(SleepOn::Descriptors(both)) => {
                self.kind = DESCRIPTORS;
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
