//! Cancellation of C threads (pthread_cancel(3)).
//!
//! A cancellation unwinds the stack, and no Rust frame with a destructor may be in the way. So it
//! can act only in two calls, dat_evd_wait and dat_cno_wait, while their thread sleeps
//! (`cancel.c`). Their own frames, from the C function to the sleep, have no destructors ("plain"):
//! what a wait owns is in memory that is not dropped automatically, and the clean-up handler of the
//! sleep drops it. All other code runs with cancellation disabled ([`hold_off`]), or calls no
//! cancellation point.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::time::Duration;

use dat_core::blocking::{BlockedCnoWait, BlockedEvdWait, SleepOn, WaitOutcome, WaitStep};
use dat_core::error::Result;
use dat_core::{Event, EventDispatcher, Waited};

use crate::abi::{DAT_HANDLE, DAT_PVOID, DAT_RETURN, DAT_SUCCESS};
use crate::result::{CallResult, OK, guard_data_path};

const ENABLE: c_int = 0;
const DISABLE: c_int = 1;
const DEFERRED: c_int = 0;

unsafe extern "C-unwind" {
    // These functions act on a pending cancellation when they set the asynchronous type, or when
    // they enable cancellation while that type is set.
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
    fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int;
    fn dats_sleep(
        sleep: *mut Sleep,
        give_up: unsafe extern "C" fn(*mut c_void),
        wait: *mut c_void,
    ) -> c_int;
    fn dats_run_agent(
        agent: unsafe extern "C-unwind" fn(DAT_PVOID, DAT_HANDLE),
        data: DAT_PVOID,
        evd: DAT_HANDLE,
    );
}

/// The caller's cancel state.
#[derive(Clone, Copy)]
pub(crate) struct HeldOff(c_int);

/// Disables cancellation.
#[inline(always)]
pub(crate) fn hold_off() -> HeldOff {
    let mut state = DISABLE;
    // SAFETY: the address is that of a local variable; disabling never acts on a cancellation.
    unsafe { pthread_setcancelstate(DISABLE, &raw mut state) };
    HeldOff(state)
}

impl HeldOff {
    /// Restores the state. A cancellation of the asynchronous type may act at once, so the frames
    /// above must be plain.
    #[inline(always)]
    pub(crate) fn resume(self) {
        if self.0 == ENABLE {
            // SAFETY: the value is one of the two valid states.
            unsafe { pthread_setcancelstate(ENABLE, ptr::null_mut()) };
        }
    }
}

/// The caller's cancel type.
#[derive(Clone, Copy)]
struct Deferred(c_int);

/// Sets the deferred cancel type.
#[inline(always)]
fn defer() -> Deferred {
    let mut kind = DEFERRED;
    // SAFETY: the address is that of a local variable; the deferred type never acts on a
    // cancellation.
    unsafe { pthread_setcanceltype(DEFERRED, &raw mut kind) };
    Deferred(kind)
}

impl Deferred {
    /// Restores the type, as [`HeldOff::resume`] restores the state.
    #[inline(always)]
    fn resume(self) {
        if self.0 != DEFERRED {
            // SAFETY: the value is the type that the thread had before.
            unsafe { pthread_setcanceltype(self.0, ptr::null_mut()) };
        }
    }
}

/// `struct dats_sleep` of `cancel.h`.
#[repr(C)]
struct Sleep {
    word: *const u32,
    seen: u32,
    cancel_state: c_int,
    fds: [libc::pollfd; 2],
    limit: libc::timespec,
    has_limit: c_int,
}

impl Sleep {
    fn new(caller: HeldOff) -> Self {
        Self {
            word: ptr::null(),
            seen: 0,
            cancel_state: caller.0,
            fds: [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; 2],
            limit: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            has_limit: 0,
        }
    }

    /// Fills in what a wait has to sleep on, and for how long; returns whether it has to sleep.
    fn prepare(&mut self, wait: &mut impl Wait) -> bool {
        let limit = wait.time_left();
        self.has_limit = limit.is_some().into();
        if let Some(limit) = limit {
            // A time too long for the type exceeds every clock.
            self.limit.tv_sec = limit.as_secs().try_into().unwrap_or(libc::time_t::MAX);
            self.limit.tv_nsec = limit.subsec_nanos().into();
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
}

/// A blocked wait of the core.
pub(crate) trait Wait: Sized {
    /// The result of the wait.
    type Found;

    fn time_left(&self) -> Option<Duration>;
    fn begin_sleep(&mut self) -> Option<SleepOn<'_>>;
    fn resume(self, outcome: WaitOutcome) -> Result<WaitStep<Self::Found, Self>>;
}

impl Wait for BlockedEvdWait {
    type Found = (Waited, Event);

    fn time_left(&self) -> Option<Duration> {
        self.time_left()
    }

    fn begin_sleep(&mut self) -> Option<SleepOn<'_>> {
        self.begin_sleep()
    }

    fn resume(self, outcome: WaitOutcome) -> Result<WaitStep<Self::Found, Self>> {
        with_event(|event| self.resume(outcome, event))
    }
}

/// A step of a wait, with the event that it delivered.
pub(crate) fn with_event(
    step: impl FnOnce(&mut Event) -> Result<WaitStep<Waited, BlockedEvdWait>>,
) -> Result<WaitStep<(Waited, Event), BlockedEvdWait>> {
    let mut event = Event::None;
    Ok(match step(&mut event)? {
        WaitStep::Done(waited) => WaitStep::Done((waited, event)),
        WaitStep::Blocked(blocked) => WaitStep::Blocked(blocked),
    })
}

impl Wait for BlockedCnoWait {
    type Found = Option<EventDispatcher>;

    fn time_left(&self) -> Option<Duration> {
        self.time_left()
    }

    fn begin_sleep(&mut self) -> Option<SleepOn<'_>> {
        Some(self.sleep_on())
    }

    fn resume(self, outcome: WaitOutcome) -> Result<WaitStep<Self::Found, Self>> {
        self.resume(outcome)
    }
}

/// Runs a call that may wait. Cancellation is disabled, except in the sleep itself. The caller's
/// frames must be plain.
#[inline(always)]
pub(crate) fn wait(
    at_once: impl FnOnce() -> Option<DAT_RETURN>,
    blocking: impl FnOnce(HeldOff) -> DAT_RETURN,
) -> DAT_RETURN {
    let state = hold_off();
    let mut blocks = false;
    let mut code = guard_data_path(|| {
        at_once().unwrap_or_else(|| {
            blocks = true;
            DAT_SUCCESS
        })
    });
    if blocks {
        // The sleep leaves the deferred type behind.
        let kind = defer();
        code = blocking(state);
        kind.resume();
    }
    state.resume();
    code
}

/// Begins a wait, sleeps as long as necessary, and returns the result. The thread can be cancelled
/// while it sleeps, if its caller's state allows it; then the wait is given up. The frames of this
/// function and of its callers are plain.
#[cold]
#[inline(never)]
pub(crate) fn block<W: Wait>(
    caller: HeldOff,
    start: impl FnOnce() -> Result<WaitStep<W::Found, W>>,
    to_result: impl Fn(Result<W::Found>) -> CallResult,
) -> DAT_RETURN {
    let mut sleeper =
        Sleeper { wait: MaybeUninit::uninit(), sleep: Sleep::new(caller), is_blocked: false };
    let mut code = guard_data_path(|| sleeper.advance(start(), &to_result));
    while sleeper.is_blocked {
        // SAFETY: both addresses are in this frame, which outlives the sleep; the wait is
        // initialised, and it is not used again after `give_up` has dropped it.
        let outcome = unsafe {
            let wait = sleeper.wait.as_mut_ptr().cast();
            dats_sleep(&raw mut sleeper.sleep, give_up::<W>, wait)
        };
        code = guard_data_path(|| {
            sleeper.is_blocked = false;
            // SAFETY: `is_blocked` says that the wait is initialised; it is read once, since
            // `is_blocked` was reset.
            let wait = unsafe { sleeper.wait.assume_init_read() };
            sleeper.advance(wait.resume(wait_outcome(outcome)), &to_result)
        });
    }
    code
}

/// A wait and its next sleep, in a frame that may be unwound: nothing here is dropped
/// automatically.
struct Sleeper<W> {
    wait: MaybeUninit<W>,
    sleep: Sleep,
    /// Whether the wait is initialised and has to sleep.
    is_blocked: bool,
}

impl<W: Wait> Sleeper<W> {
    /// Continues until there is a result, or the thread has to sleep.
    fn advance(
        &mut self,
        mut step: Result<WaitStep<W::Found, W>>,
        to_result: impl Fn(Result<W::Found>) -> CallResult,
    ) -> CallResult {
        loop {
            match step {
                Ok(WaitStep::Blocked(mut wait)) => {
                    if self.sleep.prepare(&mut wait) {
                        self.wait.write(wait);
                        self.is_blocked = true;
                        return OK;
                    }
                    step = wait.resume(WaitOutcome::Woken);
                }
                Ok(WaitStep::Done(found)) => return to_result(Ok(found)),
                Err(error) => return to_result(Err(error)),
            }
        }
    }
}

/// Converts the result of `dats_sleep`, by the constants of `cancel.h`.
fn wait_outcome(outcome: c_int) -> WaitOutcome {
    match outcome {
        1 => WaitOutcome::TimedOut,
        2 => WaitOutcome::Unavailable,
        _ => WaitOutcome::Woken,
    }
}

/// Gives up a wait whose thread was cancelled while it slept.
unsafe extern "C" fn give_up<W>(wait: *mut c_void) {
    let wait = wait.cast::<W>();
    // A panic of a thread that ends is ignored.
    // SAFETY: the pointer is that of the initialised wait of a sleep, which is not used again.
    let _ = catch_unwind(AssertUnwindSafe(|| unsafe { wait.drop_in_place() }));
}

/// Runs a proxy agent with cancellation disabled. If it does not return, the process ends.
pub(crate) unsafe fn run_agent(
    agent: unsafe extern "C-unwind" fn(DAT_PVOID, DAT_HANDLE),
    data: DAT_PVOID,
    evd: DAT_HANDLE,
) {
    // SAFETY: the caller guarantees that the agent may be called with this data.
    unsafe { dats_run_agent(agent, data, evd) };
}
