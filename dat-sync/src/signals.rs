//! Writes that exceed a limit, or that no process reads, by an error and not by a signal.
#![allow(unsafe_code, reason = "no safe wrapper of sigpending(2) and sigtimedwait(2)")]

use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, Signal};

/// The kernel sends them to the thread that makes the call. They end the process unless the program handles them.
const OF_CALLS: [Signal; 2] = [Signal::SIGPIPE, Signal::SIGXFSZ];

/// Makes calls that fail with `EPIPE` and `EFBIG` and send no signal. The thread blocks the signals meanwhile, and takes
/// those that came.
pub fn without_signals<T>(calls: impl FnOnce() -> T) -> T {
    let mut both = SigSet::empty();
    OF_CALLS.iter().for_each(|signal| both.add(*signal));
    // It fails only for invalid arguments.
    let before = both.thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let were_pending = pending();
    let result = calls();
    let are_pending = pending();
    let came = OF_CALLS.iter().zip(are_pending.iter().zip(were_pending));
    for (signal, _) in came.filter(|(_, (is, was))| **is && !was) {
        let mut one = SigSet::empty();
        one.add(*signal);
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointers are to values that outlive the call, or null.
        unsafe { libc::sigtimedwait(one.as_ref(), std::ptr::null_mut(), &raw const now) };
    }
    if let Ok(before) = before {
        let _ = before.thread_set_mask();
    }
    result
}

/// Which of the signals are pending.
fn pending() -> [bool; 2] {
    let mut pending = *SigSet::empty().as_ref();
    // SAFETY: the call writes the set, and leaves it as it is if it fails.
    unsafe { libc::sigpending(&raw mut pending) };
    // SAFETY: the set is valid.
    OF_CALLS.map(|signal| unsafe { libc::sigismember(&raw const pending, signal as i32) == 1 })
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;

    fn raise(signal: Signal) {
        // It is blocked in this thread. If it were not, it would end this process.
        nix::sys::signal::raise(signal).expect("a signal");
    }

    #[test]
    fn a_signal_of_a_call_is_taken() {
        for signal in OF_CALLS {
            without_signals(|| raise(signal));
            assert_eq!(pending(), [false; 2]);
        }
    }

    #[test]
    fn a_signal_that_the_program_blocks_stays_pending() {
        let mut only = SigSet::empty();
        only.add(Signal::SIGXFSZ);
        only.thread_block().expect("a signal");
        raise(Signal::SIGXFSZ);
        without_signals(|| raise(Signal::SIGPIPE));
        assert_eq!(pending(), [false, true]);
        assert_eq!(only.wait(), Ok(Signal::SIGXFSZ));
        without_signals(|| raise(Signal::SIGXFSZ));
        assert_eq!(pending(), [false; 2]);
        assert!(SigSet::thread_get_mask().expect("a thread").contains(Signal::SIGXFSZ));
    }

    #[test]
    fn a_pipe_without_a_reader_is_an_error() {
        let (reader, writer) = nix::unistd::pipe().expect("descriptors");
        drop(reader);
        // Rust programs ignore the signal. With its default action it would end this process.
        // SAFETY: no handler is installed.
        let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let written = without_signals(|| nix::unistd::write(&writer, b"x"));
        // SAFETY: as before.
        unsafe { libc::signal(libc::SIGPIPE, before) };
        assert_eq!(written, Err(nix::errno::Errno::EPIPE));
    }
}
