//! The signal actions that the handler has replaced.
#![allow(unsafe_code, reason = "signal actions are functions by address")]

use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use libc::{c_int, c_void, siginfo_t};

pub(super) type Handler = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// The previous action of a signal, which a handler reads without a lock.
pub(super) struct Previous {
    signal: c_int,
    handler: AtomicUsize,
    flags: AtomicI32,
}

pub(super) static SEGV: Previous = Previous::new(libc::SIGSEGV);
pub(super) static BUS: Previous = Previous::new(libc::SIGBUS);

/// Returns true if the kernel reports a failed access of the thread, which recurs if the handler returns.
pub(super) fn is_fault(signal: c_int, info: &siginfo_t) -> bool {
    /// A memory error that no thread has accessed yet.
    const BUS_MCEERR_AO: c_int = 5;
    info.si_code > 0 && (signal, info.si_code) != (libc::SIGBUS, BUS_MCEERR_AO)
}

impl Previous {
    const fn new(signal: c_int) -> Self {
        let (handler, flags) = (AtomicUsize::new(libc::SIG_DFL), AtomicI32::new(0));
        Self { signal, handler, flags }
    }

    pub(super) fn of(signal: c_int) -> Option<&'static Self> {
        [&SEGV, &BUS].into_iter().find(|previous| previous.signal == signal)
    }

    /// Replaces the action of the signal by a handler. If the replaced action is a handler, the new one blocks the same
    /// signals and uses the same stack.
    pub(super) fn replace(&self, handler: Handler) {
        let new = handler as usize;
        let Some(mut action) = action(self.signal, None) else { return };
        if action.sa_sigaction == new {
            return;
        }
        self.handler.store(action.sa_sigaction, Ordering::Relaxed);
        self.flags.store(action.sa_flags, Ordering::Release);
        let is_handler = ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction);
        let kept = libc::SA_NODEFER | libc::SA_ONSTACK | libc::SA_RESTART;
        action.sa_flags = if is_handler { action.sa_flags & kept } else { libc::SA_ONSTACK };
        action.sa_flags |= libc::SA_SIGINFO;
        action.sa_sigaction = new;
        let _ = self::action(self.signal, Some(&action));
    }

    /// Executes the previous action.
    ///
    /// # Safety
    /// The kernel has passed both pointers to the handler of this signal, which returns after this.
    pub(super) unsafe fn pass_on(&self, info: *mut siginfo_t, context: *mut c_void) {
        let flags = self.flags.load(Ordering::Acquire);
        let handler = if flags & libc::SA_RESETHAND == 0 {
            self.handler.load(Ordering::Relaxed)
        } else {
            self.handler.swap(libc::SIG_DFL, Ordering::Relaxed)
        };
        match handler {
            libc::SIG_DFL => {
                // SAFETY: as for this function.
                unsafe { self.end(info) }
            }
            libc::SIG_IGN => {
                // SAFETY: as for this function.
                if is_fault(self.signal, unsafe { &*info }) {
                    // A fault is never ignored.
                    // SAFETY: as for this function.
                    unsafe { self.end(info) }
                }
            }
            handler if flags & libc::SA_SIGINFO != 0 => {
                // SAFETY: the program has installed it as a handler with these arguments.
                let handler = unsafe { mem::transmute::<usize, Handler>(handler) };
                // SAFETY: as the kernel would call it.
                unsafe { handler(self.signal, info, context) }
            }
            handler => {
                // SAFETY: the program has installed it as a handler with this argument.
                let handler =
                    unsafe { mem::transmute::<usize, unsafe extern "C" fn(c_int)>(handler) };
                // SAFETY: as the kernel would call it.
                unsafe { handler(self.signal) }
            }
        }
    }

    /// Ends the process with the signal, once the handler has returned.
    ///
    /// # Safety
    /// As for [`pass_on`](Self::pass_on).
    unsafe fn end(&self, info: *mut siginfo_t) {
        // SAFETY: all zeros is the default action without flags.
        let default = unsafe { mem::zeroed() };
        let _ = action(self.signal, Some(&default));
        // SAFETY: as for this function.
        if is_fault(self.signal, unsafe { &*info }) {
            return;
        }
        // SAFETY: the call has no memory as an argument.
        let process = unsafe { libc::getpid() };
        // SAFETY: as above.
        let thread = unsafe { libc::gettid() };
        // SAFETY: the kernel copies the information, which it has passed.
        unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, self.signal, info) };
    }
}

/// Sets the action of a signal, if there is a new one, and returns the previous one.
fn action(signal: c_int, new: Option<&libc::sigaction>) -> Option<libc::sigaction> {
    let new = new.map_or(ptr::null(), ptr::from_ref);
    let mut old = MaybeUninit::uninit();
    // SAFETY: the kernel copies the new action and stores the old one; `handle`, the only handler that is
    // passed here, calls only what a handler may call.
    let result = unsafe { libc::sigaction(signal, new, old.as_mut_ptr()) };
    // SAFETY: the call has stored it.
    (result == 0).then(|| unsafe { old.assume_init() })
}
