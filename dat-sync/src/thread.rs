//! The threads of the library. They run in the process of a program that does not know them, so they take no
//! signal that is meant for the program, and nothing of the scheduling of the thread that happens to start them.
//!
//! They are created by pthread_create(3). A thread of the standard library takes a lock of the process when it
//! begins, which a child of a fork may inherit from another thread, and would wait for without end.

#![allow(
    unsafe_code,
    reason = "no safe wrapper of pthread_create(3) and the calls that change the scheduling of a thread"
)]

use std::ffi::{CString, c_void};
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use nix::time::{ClockId, clock_gettime};

/// The signals that the kernel raises for an instruction or a system call of the thread itself (signal(7)). If it
/// is blocked, the kernel ends the process without the program's handler.
const SYNCHRONOUS: [Signal; 6] = [
    Signal::SIGSEGV,
    Signal::SIGBUS,
    Signal::SIGFPE,
    Signal::SIGILL,
    Signal::SIGTRAP,
    Signal::SIGSYS,
];

/// Starts a thread of the library.
///
/// It blocks every signal except those that it causes itself, from its first instruction on. Its policy is
/// `SCHED_OTHER`, and it may run on every processor of the control group, whatever the calling thread has: a
/// caller of a real-time policy that polls would keep a thread of its own policy and processor from running for
/// ever. The nice value is the caller's.
///
/// # Errors
/// The limit of threads is reached, or memory is used up.
pub fn start<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Thread<T>> {
    let name = CString::new(name)?;
    let mut blocked = SigSet::all();
    SYNCHRONOUS.into_iter().for_each(|signal| blocked.remove(signal));
    // The new thread waits at the gate while its scheduling changes, so that it does not end before.
    let gate = Arc::new(Mutex::new(()));
    let place = gate.lock();
    let result = Arc::new(Mutex::new(None));
    let body: Body = {
        let (gate, result) = (Arc::clone(&gate), Arc::clone(&result));
        Box::new(move || {
            // The caller may block synchronous signals.
            let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&blocked), None);
            drop(gate.lock());
            // No panic may leave the function of the thread. The hook has reported it.
            let found = catch_unwind(AssertUnwindSafe(run)).ok();
            *result.lock().unwrap_or_else(PoisonError::into_inner) = found;
        })
    };
    let mut before = SigSet::empty();
    pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&blocked), Some(&mut before))?;
    let started = create(body);
    if let Ok(thread) = started {
        // SAFETY: the thread has not passed the gate, so it exists; the name is a string of C.
        unsafe { libc::pthread_setname_np(thread, name.as_ptr()) };
        leave_scheduling_of_caller(thread);
    }
    drop(place);
    // It fails for invalid arguments only.
    let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    Ok(Thread { thread: started?, result, is_joined: false })
}

/// A thread that was started. It goes on if this is dropped.
#[derive(Debug)]
pub struct Thread<T> {
    thread: libc::pthread_t,
    result: Arc<Mutex<Option<T>>>,
    is_joined: bool,
}

// SAFETY: every thread may use the id of a thread that is neither joined nor detached, whatever its type is (in musl a
// pointer). The owner of the `Thread` gets its result, so `T` must be `Send`.
unsafe impl<T: Send> Send for Thread<T> {}
// SAFETY: as above; a reference gives no access to the result.
unsafe impl<T: Send> Sync for Thread<T> {}

impl<T> Thread<T> {
    /// Waits for the end of the thread. Returns its result; `None` if it has panicked.
    #[must_use]
    pub fn join(mut self) -> Option<T> {
        self.is_joined = true;
        // SAFETY: the thread was neither joined nor detached before.
        unsafe { libc::pthread_join(self.thread, ptr::null_mut()) };
        self.result.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns true if it is the calling thread.
    #[must_use]
    pub fn is_current(&self) -> bool {
        // SAFETY: the call has no pointers.
        unsafe { libc::pthread_self() == self.thread }
    }
}

impl<T> Drop for Thread<T> {
    fn drop(&mut self) {
        if !self.is_joined {
            // SAFETY: the thread was neither joined nor detached before.
            unsafe { libc::pthread_detach(self.thread) };
        }
    }
}

type Body = Box<dyn FnOnce() + Send>;

fn create(body: Body) -> io::Result<libc::pthread_t> {
    extern "C" fn main(body: *mut c_void) -> *mut c_void {
        // SAFETY: `create` has passed it, and to this thread only.
        let body = unsafe { Box::from_raw(body.cast::<Body>()) };
        body();
        ptr::null_mut()
    }
    /// As for threads of the standard library, in bytes.
    const STACK: usize = 2 << 20;
    let mut attributes = mem::MaybeUninit::uninit();
    let mut thread = mem::MaybeUninit::uninit();
    let body = Box::into_raw(Box::new(body));
    // SAFETY: the call initialises the attributes.
    unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) };
    // SAFETY: initialised above. If it fails, the size stays the default.
    unsafe { libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK) };
    // SAFETY: the attributes are initialised, and the function gets the pointer that it takes.
    let error = unsafe {
        libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), main, body.cast())
    };
    // SAFETY: initialised above, and not used again.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    if error != 0 {
        // SAFETY: made above, and no thread has it.
        drop(unsafe { Box::from_raw(body) });
        return Err(io::Error::from_raw_os_error(error));
    }
    // SAFETY: the call has succeeded, so it has stored the id.
    Ok(unsafe { thread.assume_init() })
}

/// How long the current thread has run.
#[must_use]
pub fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map(Duration::from).unwrap_or_default()
}

/// What fails here stays as the caller has it: a filter of system calls may refuse, and a thread leaves
/// `SCHED_IDLE` only with the right to lower its nice value.
fn leave_scheduling_of_caller(thread: libc::pthread_t) {
    // SAFETY: all bits zero are a valid value.
    let parameters: libc::sched_param = unsafe { mem::zeroed() };
    // SAFETY: the thread has not passed the gate, so it exists; the parameters are valid for reads.
    unsafe { libc::pthread_setschedparam(thread, libc::SCHED_OTHER, &raw const parameters) };
    // SAFETY: all bits zero are a valid value, the empty set.
    let mut all: libc::cpu_set_t = unsafe { mem::zeroed() };
    for processor in 0..libc::CPU_SETSIZE as usize {
        // SAFETY: the number is less than the size of the set.
        unsafe { libc::CPU_SET(processor, &mut all) };
    }
    // The kernel removes what the control group forbids.
    // SAFETY: the thread has not passed the gate, so it exists; the set has the size that is named.
    unsafe { libc::pthread_setaffinity_np(thread, size_of_val(&all), &raw const all) };
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use std::fs;

    use super::*;

    /// A line of `/proc/thread-self/status`.
    fn status(key: &str) -> String {
        let text = fs::read_to_string("/proc/thread-self/status").expect("every Linux has it");
        let line = text.lines().find_map(|line| line.strip_prefix(key)).expect("a known key");
        line.trim_start_matches(':').trim().to_owned()
    }

    fn policy() -> i32 {
        // SAFETY: the call has no pointers.
        unsafe { libc::sched_getscheduler(0) }
    }

    /// Every signal that can be blocked, except those that a thread causes itself. The C library keeps 32
    /// and 33 for itself.
    fn asynchronous() -> u64 {
        let not = [libc::SIGKILL, libc::SIGSTOP, 32, 33];
        let own = SYNCHRONOUS.map(|signal| signal as i32);
        not.into_iter().chain(own).fold(u64::MAX, |mask, signal| mask & !(1 << (signal - 1)))
    }

    fn mask() -> u64 {
        u64::from_str_radix(&status("SigBlk"), 16).expect("a mask")
    }

    /// In a thread of its own, because it changes the scheduling and the mask.
    fn in_thread(test: impl FnOnce() + Send + 'static) {
        std::thread::spawn(test).join().expect("no panic");
    }

    fn bind_to_one_processor() {
        // SAFETY: all bits zero are a valid value, the empty set.
        let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
        let size = size_of_val(&set);
        // SAFETY: the set has the size that is named.
        unsafe { libc::sched_getaffinity(0, size, &raw mut set) };
        let mut has_one = false;
        for processor in 0..libc::CPU_SETSIZE as usize {
            // SAFETY: the number is less than the size of the set.
            if unsafe { libc::CPU_ISSET(processor, &set) } && mem::replace(&mut has_one, true) {
                // SAFETY: the number is less than the size of the set.
                unsafe { libc::CPU_CLR(processor, &mut set) };
            }
        }
        // SAFETY: the set has the size that is named.
        assert_eq!(unsafe { libc::sched_setaffinity(0, size, &raw const set) }, 0);
    }

    /// The policy that every thread may take.
    fn take_batch_policy() {
        // SAFETY: all bits zero are a valid value.
        let parameters: libc::sched_param = unsafe { mem::zeroed() };
        // SAFETY: the parameters are valid for reads.
        let set = unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters) };
        assert_eq!(set, 0);
    }

    #[test]
    fn a_thread_that_sleeps_uses_no_processor_time() {
        let (before, pause) = (processor_time(), Duration::from_millis(100));
        std::thread::sleep(pause);
        let slept = processor_time();
        assert!(slept - before < pause / 2, "{before:?} {slept:?}");
        while processor_time() == slept {}
    }

    #[test]
    fn a_thread_takes_nothing_of_the_thread_that_starts_it() {
        in_thread(|| {
            let all = start("dat-test", || status("Cpus_allowed")).expect("a thread");
            let all = all.join().expect("no panic");
            bind_to_one_processor();
            take_batch_policy();
            for before in [SigSet::empty(), SigSet::all()] {
                before.thread_set_mask().expect("a valid set");
                let (own, processors) = (mask(), status("Cpus_allowed"));
                let look = || (mask(), policy(), status("Cpus_allowed"), status("Name"));
                let found = start("dat-test", look).expect("a thread").join().expect("no panic");
                let name = "dat-test".to_owned();
                assert_eq!(found, (asynchronous(), libc::SCHED_OTHER, all.clone(), name));
                let after = (mask(), policy(), status("Cpus_allowed"));
                assert_eq!(after, (own, libc::SCHED_BATCH, processors), "the caller is unchanged");
            }
        });
    }
}
