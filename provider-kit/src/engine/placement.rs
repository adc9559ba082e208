//! Where the thread `dat-progress` runs, and how soon it runs once it wakes up.
//!
//! The thread inherits the processors of the thread that opened the adapter. Launchers bind each process to a
//! processor, and a consumer that spins keeps that one busy, so the thread may run on every processor of the
//! control group instead. If all of them are busy it returns to those of the opener: the scheduler would
//! otherwise crowds the threads of several adapters on the processor of the consumer that sends.

use std::time::{Duration, Instant};

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::processors::{Processors, ranges};

/// How often the thread looks whether every processor is busy.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// The time slice that the thread requests, in nanoseconds; the shortest that Linux grants. A thread that
/// wakes up with a shorter slice than that of the running thread preempts it (Linux 6.12, sched_setattr(2)).
const TIME_SLICE: u64 = 100_000;

/// The processors of the current thread.
pub(super) struct Placement {
    /// The processors of the thread that opened the adapter.
    opener: CpuSet,
    /// Those on which the thread may run.
    allowed: CpuSet,
    /// Whether the thread stays on the opener's while every processor is busy.
    follows_opener: bool,
    /// Whether it does now.
    is_at_opener: bool,
    next_check: Instant,
}

impl Placement {
    /// Places the current thread, which has the scheduling of the thread that opened the adapter.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if the process may not use the requested processors.
    pub(super) fn of_thread(processors: Processors) -> Result<Self> {
        request_short_slice();
        let own = |_| cannot_place("the processors of the thread cannot be read");
        let opener = sched_getaffinity(None).map_err(own)?;
        let requested = match processors {
            Processors::Any => Some((0, CpuSet::MAX_CPU - 1)),
            Processors::Opener => None,
            Processors::Range(first, last) => Some((first, last)),
        };
        if let Some((first, last)) = requested {
            let mut set = CpuSet::new();
            (first..=last).for_each(|processor| set.set(processor));
            let placed = sched_setaffinity(None, &set);
            if placed.is_err() && processors != Processors::Any {
                return Err(cannot_place(&format!(
                    "the process may not use the processors {}",
                    ranges(&set)
                )));
            }
        }
        let allowed = sched_getaffinity(None).map_err(own)?;
        let follows_opener = processors == Processors::Any && opener != allowed;
        let next_check = Instant::now() + CHECK_INTERVAL;
        Ok(Self { opener, allowed, follows_opener, is_at_opener: false, next_check })
    }

    /// The processors on which the thread may run.
    pub(super) const fn allowed(&self) -> CpuSet {
        self.allowed
    }

    /// Moves the thread if the machine has become busy or idle.
    pub(super) fn update(&mut self) {
        if !self.follows_opener || Instant::now() < self.next_check {
            return;
        }
        self.next_check = Instant::now() + CHECK_INTERVAL;
        let Some(running) = running_threads() else { return };
        // This thread is one of them.
        let processors = self.allowed.count() as usize;
        let is_busy = if self.is_at_opener { running >= processors } else { running > processors };
        if is_busy != self.is_at_opener {
            let set = if is_busy { &self.opener } else { &self.allowed };
            // Fails only if the control group was changed, which has moved the thread already.
            let _ = sched_setaffinity(None, set);
            self.is_at_opener = is_busy;
        }
    }
}

fn cannot_place(reason: &str) -> Error {
    Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1)
        .because(reason.to_owned())
        .advise("leave the IA parameter processors out, or name processors of its control group")
}

/// Number of threads that run or are ready to run (proc_loadavg(5)).
fn running_threads() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

/// Makes the current thread preempt threads that spin. It leaves a real-time policy, which it inherits: with
/// that it would keep a consumer of the same processor from running.
#[allow(unsafe_code, reason = "no safe wrapper of sched_setattr(2)")]
fn request_short_slice() {
    /// The first version of `struct sched_attr`.
    #[repr(C)]
    #[derive(Default)]
    struct SchedAttr {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let mut attr = SchedAttr::default();
    let size = size_of::<SchedAttr>();
    // SAFETY: `attr` is valid for the writes of `size` bytes that the kernel makes.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attr, size, 0) };
    if got != 0 {
        return;
    }
    attr.policy = libc::SCHED_OTHER as u32;
    attr.priority = 0;
    attr.runtime = TIME_SLICE;
    // SAFETY: `attr` is valid for reads of the size that it names. Kernels without slices refuse or ignore it.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) };
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;

    /// In a thread of its own, since the scheduling of the test's thread changes.
    fn in_thread(test: impl FnOnce() + Send + 'static) {
        std::thread::spawn(test).join().expect("no panic");
    }

    #[test]
    fn a_bound_opener_does_not_bind_the_thread() {
        in_thread(|| {
            let all = sched_getaffinity(None).expect("own processors");
            let first = (0..CpuSet::MAX_CPU).find(|one| all.is_set(*one)).expect("a processor");
            let mut one = CpuSet::new();
            one.set(first);
            sched_setaffinity(None, &one).expect("an own processor");
            let placement = Placement::of_thread(Processors::Opener).expect("its own processors");
            assert_eq!(placement.allowed, one);
            let placement = Placement::of_thread(Processors::Any).expect("any processor");
            assert_eq!(placement.allowed, sched_getaffinity(None).expect("own processors"));
            assert!(
                (0..CpuSet::MAX_CPU).all(|one| placement.allowed.is_set(one) >= all.is_set(one))
            );
            let placement =
                Placement::of_thread(Processors::Range(first, first)).expect("that one");
            assert_eq!(placement.allowed, one);
        });
    }

    #[test]
    fn processors_that_do_not_exist_are_an_error() {
        in_thread(|| {
            let last = CpuSet::MAX_CPU - 1;
            let error =
                Placement::of_thread(Processors::Range(last, last)).err().expect("an error");
            assert!(error.reason().ends_with(&last.to_string()), "{error}");
        });
    }

    #[test]
    fn the_running_threads_are_counted() {
        assert!(running_threads().is_some_and(|count| count > 0));
    }
}
