//! The processors of the thread `dat-progress`, and its latency after a wake-up.
//!
//! Launchers bind each process to a processor, and a spinning consumer keeps that processor busy, so the thread may run
//! on every processor of the control group. If all of them are busy, it moves to the processors of the thread that
//! opened the adapter: the scheduler would otherwise crowd the threads of several adapters on the processor of the
//! sending consumer.

#![allow(unsafe_code, reason = "no safe wrapper of sched_getscheduler(2) and sched_setattr(2)")]

use std::borrow::Cow;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_setaffinity};

use crate::processors::{Processors, ranges};
use crate::progress_mode::ProgressMode;

/// Interval at which the thread checks its placement.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Interval at which it checks whether every processor is busy while its sleeps are shorter than this: the checks take
/// less than 1 % of a processor.
const BUSY_CHECK_INTERVAL: Duration = Duration::from_millis(1);
/// The time slice that the thread requests, in nanoseconds; the shortest that Linux grants. A thread that wakes up with
/// a shorter slice than the running thread preempts it (Linux 6.12, sched_setattr(2)).
const TIME_SLICE: u64 = 100_000;
/// By how much the nice value of the thread is lower with `progress=priority`. A thread that reads long messages runs for
/// more than half of the time, and with the weight of the consumer it would have to wait for the rest of a tick.
const PRIORITY: i32 = 10;
/// The lowest nice value.
const MIN_NICE: i32 = -20;

/// The processors of the control group, as the first thread without an affinity found them.
static OF_CONTROL_GROUP: OnceLock<CpuSet> = OnceLock::new();

/// Returns the processors on which a thread of an adapter may run, if they are known before it runs: an open that waits
/// for the thread takes twice as long.
pub(super) fn known_processors(
    opener: Opener,
    requested: Processors,
    mode: ProgressMode,
) -> Option<CpuSet> {
    match requested {
        _ if mode == ProgressMode::Priority => None,
        Processors::Any => OF_CONTROL_GROUP.get().copied(),
        Processors::Opener => opener.processors,
        Processors::Range(..) => None,
    }
}

/// The thread that opened the adapter.
#[derive(Clone, Copy)]
pub(super) struct Opener {
    thread: Pid,
    /// Its processors, if the system reports them.
    processors: Option<CpuSet>,
}

/// The processors of the current thread. The call fails if a security profile forbids it, or if the kernel has more
/// processors than the set.
fn own_processors() -> Option<CpuSet> {
    sched_getaffinity(None).ok()
}

fn every_processor() -> CpuSet {
    let mut set = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|processor| set.set(processor));
    set
}

impl Opener {
    /// The current thread.
    pub(super) fn current() -> Self {
        Self { thread: gettid(), processors: own_processors() }
    }

    /// Returns true if the thread has a real-time policy: while it spins, ordinary threads do not run.
    fn is_real_time(&self) -> bool {
        let thread = self.thread.as_raw_nonzero().get();
        // The function of musl always fails: POSIX has it for processes, and Linux for threads.
        // SAFETY: the call has no pointers.
        let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, thread) };
        let policy = policy as i32 & !libc::SCHED_RESET_ON_FORK;
        [libc::SCHED_FIFO, libc::SCHED_RR, libc::SCHED_DEADLINE].contains(&policy)
    }
}

/// The placement of the current thread.
pub(super) struct Placement {
    opener: Opener,
    /// The processors on which the thread may run.
    allowed: CpuSet,
    station: Station,
    next_check: Instant,
    next_busy_check: Instant,
}

/// The processors on which the thread runs now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Station {
    /// Always the allowed ones.
    Fixed,
    /// The allowed ones, because they are not all busy.
    Roaming,
    /// The processors of the opener, because all allowed ones are busy.
    AtOpener,
}

impl Placement {
    /// Places the current thread, which may run on every processor, and sets its priority.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if the process may not use the requested processors, or may not have the priority.
    pub(super) fn of_thread(
        opener: Opener,
        processors: Processors,
        mode: ProgressMode,
    ) -> Result<Self> {
        request_precedence(mode)?;
        let requested =
            match processors {
                Processors::Any => None,
                Processors::Opener => Some(opener.processors.ok_or_else(|| {
                    refused("the processors of the thread cannot be read", PLACES)
                })?),
                Processors::Range(first, last) => {
                    let mut set = CpuSet::new();
                    (first..=last).for_each(|processor| set.set(processor));
                    Some(set)
                }
            };
        if let Some(set) = requested {
            sched_setaffinity(None, &set).map_err(|_| {
                let reason = format!("the process may not use the processors {}", ranges(&set));
                refused(reason, PLACES)
            })?;
        }
        let found = own_processors();
        if let (Processors::Any, Some(found)) = (processors, found) {
            let _ = OF_CONTROL_GROUP.set(found);
        }
        let allowed = found.unwrap_or_else(every_processor);
        let is_elsewhere = opener.processors.is_some_and(|own| own != allowed);
        let station = if processors == Processors::Any && is_elsewhere {
            Station::Roaming
        } else {
            Station::Fixed
        };
        let now = Instant::now();
        let (next_check, next_busy_check) = (now + CHECK_INTERVAL, now);
        Ok(Self { opener, allowed, station, next_check, next_busy_check })
    }

    /// The processors on which the thread may run.
    pub(super) const fn allowed(&self) -> CpuSet {
        self.allowed
    }

    /// The thread is about to sleep until `deadline`. Moves it if the machine has become busy or idle. Returns whether
    /// it is busy; `None` if no check was due.
    pub(super) fn update(&mut self, deadline: Option<Instant>) -> Option<bool> {
        let now = Instant::now();
        let sleeps_shortly = deadline.is_some_and(|deadline| deadline < now + BUSY_CHECK_INTERVAL);
        let must_look = sleeps_shortly && now >= self.next_busy_check;
        if !must_look && now < self.next_check {
            return None;
        }
        self.next_busy_check = now + BUSY_CHECK_INTERVAL;
        let running = running_threads()?;
        if now >= self.next_check {
            self.next_check = now + CHECK_INTERVAL;
            self.place(running);
        }
        Some(running > self.processors())
    }

    fn place(&mut self, running: usize) {
        let station = self.next_station(running);
        if station != self.station {
            let at_opener = station == Station::AtOpener;
            let set = if at_opener { self.opener.processors } else { Some(self.allowed) };
            // Fails only if the control group was changed, which has already moved the thread.
            let _ = set.map(|set| sched_setaffinity(None, &set));
            self.station = station;
        }
    }

    fn processors(&self) -> usize {
        self.allowed.count() as usize
    }

    /// The station while `running` threads, including this one, run or are ready to run.
    fn next_station(&self, running: usize) -> Station {
        let processors = self.processors();
        let is_busy = match self.station {
            Station::Fixed => return Station::Fixed,
            Station::Roaming => running > processors,
            Station::AtOpener => running >= processors,
        };
        if is_busy && !self.opener.is_real_time() { Station::AtOpener } else { Station::Roaming }
    }
}

/// What to do if the thread may not run where it is requested to.
const PLACES: &str =
    "leave the IA parameter processors out, or name processors of its control group";

/// An IA parameter cannot have its effect.
fn refused(reason: impl Into<Cow<'static, str>>, advice: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1).because(reason).advise(advice)
}

/// Returns the number of threads that run or are ready to run (proc_loadavg(5)).
fn running_threads() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

/// Requests a short time slice, so that the current thread preempts spinning threads, and the priority of the mode.
fn request_precedence(mode: ProgressMode) -> Result<()> {
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
    attr.runtime = TIME_SLICE;
    if mode == ProgressMode::Priority {
        attr.nice = (attr.nice - PRIORITY).max(MIN_NICE);
    }
    // SAFETY: `attr` is valid for reads of the size that it names. Kernels without slices refuse or ignore it.
    let is_set =
        got == 0 && unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) } == 0;
    if is_set || mode != ProgressMode::Priority {
        return Ok(());
    }
    let reason = format!("the process may not give the thread the nice value {}", attr.nice);
    let limit = MIN_NICE.abs() - attr.nice;
    let advice = format!(
        "leave the IA parameter progress=priority out, or give the process CAP_SYS_NICE or a limit of the priority \
         (ulimit -e {limit})"
    );
    Err(refused(reason, advice))
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use rustix::process::{Resource, getpriority_process, getrlimit};
    use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

    use super::*;

    /// In a thread of its own, since the scheduling of the test's thread changes.
    fn in_thread(test: impl FnOnce() + Send + 'static) {
        std::thread::spawn(test).join().expect("no panic");
    }

    /// Binds the current thread to its first processor; returns all that it may use, and that one.
    fn bind() -> (CpuSet, usize, CpuSet) {
        let all = sched_getaffinity(None).expect("own processors");
        let first = (0..CpuSet::MAX_CPU).find(|one| all.is_set(*one)).expect("a processor");
        let mut one = CpuSet::new();
        one.set(first);
        sched_setaffinity(None, &one).expect("an own processor");
        (all, first, one)
    }

    fn placed(opener: Opener, processors: Processors) -> Placement {
        let thread = dat_sync::thread::start("dat-test", move || {
            let placement = Placement::of_thread(opener, processors, ProgressMode::Sleep)?;
            assert_eq!(placement.allowed, own_processors().expect("own processors"));
            Ok::<_, Error>(placement)
        });
        thread.expect("a thread").join().expect("no panic").expect("own processors")
    }

    #[test]
    fn a_bound_opener_does_not_bind_the_thread() {
        in_thread(|| {
            let (all, first, one) = bind();
            let opener = Opener::current();
            assert_eq!(placed(opener, Processors::Opener).allowed, one);
            let any = placed(opener, Processors::Any).allowed;
            assert!((0..CpuSet::MAX_CPU).all(|one| any.is_set(one) >= all.is_set(one)));
            assert_eq!(placed(opener, Processors::Range(first, first)).allowed, one);
        });
    }

    #[test]
    fn the_thread_is_at_a_bound_opener_while_every_processor_is_busy() {
        in_thread(|| {
            let (all, _, _) = bind();
            if all.count() == 1 {
                println!("NOT RUN: this machine has one processor");
                return;
            }
            let mut placement = placed(Opener::current(), Processors::Any);
            let processors = placement.allowed.count() as usize;
            assert!(placement.station == Station::Roaming);
            assert!(placement.next_station(processors) == Station::Roaming);
            assert!(placement.next_station(processors + 1) == Station::AtOpener);
            placement.station = Station::AtOpener;
            assert!(placement.next_station(processors) == Station::AtOpener);
            assert!(placement.next_station(processors - 1) == Station::Roaming);
        });
    }

    /// It would never run there while the opener spins.
    #[test]
    fn the_thread_is_never_at_an_opener_with_a_real_time_policy() {
        in_thread(|| {
            bind();
            let opener = Opener::current();
            let mut placement = placed(opener, Processors::Any);
            let parameters = libc::sched_param { sched_priority: 1 };
            // SAFETY: the parameters are valid for reads.
            let set =
                unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
            if set != 0 {
                println!("NOT RUN: a real-time policy needs CAP_SYS_NICE");
                return;
            }
            placement.station = Station::AtOpener;
            assert!(placement.next_station(usize::MAX) == Station::Roaming);
        });
    }

    #[test]
    fn processors_that_do_not_exist_are_an_error() {
        in_thread(|| {
            let last = CpuSet::MAX_CPU - 1;
            let opener = Opener::current();
            let range = Processors::Range(last, last);
            let error = Placement::of_thread(opener, range, ProgressMode::Sleep).err();
            let error = error.expect("an error");
            assert!(error.reason().ends_with(&last.to_string()), "{error}");
        });
    }

    #[test]
    fn a_priority_is_set_or_refused_with_what_permits_it() {
        let nice = || getpriority_process(None).expect("own priority");
        let request = || request_precedence(ProgressMode::Priority);
        let own = capabilities(None).expect("own capabilities");
        if own.effective.contains(CapabilitySet::SYS_NICE) {
            in_thread(move || {
                let before = nice();
                assert_eq!(request(), Ok(()));
                assert_eq!(nice(), (before - PRIORITY).max(MIN_NICE));
            });
        } else {
            println!("NOT RUN: a lower nice value needs CAP_SYS_NICE");
        }
        in_thread(move || {
            let (effective, permitted) = (CapabilitySet::empty(), own.permitted);
            let without = CapabilitySets { effective, permitted, inheritable: own.inheritable };
            set_capabilities(None, without).expect("fewer are permitted");
            if getrlimit(Resource::Nice).current.is_some_and(|limit| limit > 20) {
                println!("NOT RUN: a limit permits lower nice values");
                return;
            }
            let error = request().expect_err("no right");
            assert_eq!(error.return_type(), ReturnType::InvalidParameter);
            assert!(error.to_string().contains("ulimit -e"), "{error}");
            assert_eq!(request_precedence(ProgressMode::Sleep), Ok(()), "a slice needs no right");
        });
    }

    #[test]
    fn the_running_threads_are_counted() {
        assert!(running_threads().is_some_and(|count| count > 0));
    }
}
